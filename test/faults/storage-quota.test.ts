import { readdirSync } from "node:fs";
import { join } from "node:path";
import OpenAI, { toFile } from "openai";
import { expect, it } from "vitest";
import { startKeyedServer } from "./keys-rig.ts";

const upload = async (client: OpenAI, bytes: number) =>
  client.files.create({ file: await toFile(Buffer.alloc(bytes, "x"), "notes.txt"), purpose: "user_data" });

it("a file beyond a key's storage is 507, counting files of all keys of the owner", async () => {
  const server = await startKeyedServer();
  const small = server.client((await server.key({ storage_bytes: 11_000 })).key);
  const free = server.client((await server.key()).key);
  const other = server.client((await server.key({ owner: "b", storage_bytes: 10_000 })).key);
  await upload(small, 6000);
  const refused: unknown = await upload(small, 6000).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(OpenAI.APIError);
  expect(refused).toMatchObject({ status: 507, code: "insufficient_storage", type: "insufficient_quota" });
  const kept = await upload(free, 6000);
  await upload(other, 9000);
  await expect(upload(small, 1)).rejects.toMatchObject({ status: 507 });
  await free.files.delete(kept.id);
  await upload(small, 3000);
  // The refused file leaves nothing on disk.
  expect(readdirSync(join(server.dataDir, "tmp"))).toEqual([]);
  expect(readdirSync(join(server.dataDir, "files"))).toHaveLength(3);
});

it("parts of an upload count as soon as they are stored", async () => {
  const server = await startKeyedServer();
  const client = server.client((await server.key({ storage_bytes: 10_000 })).key);
  const terms = { filename: "a.txt", mime_type: "text/plain", purpose: "user_data" as const };
  await expect(client.uploads.create({ ...terms, bytes: 10_001 })).rejects.toMatchObject({ status: 507 });
  const { id } = await client.uploads.create({ ...terms, bytes: 9000 });
  const part = async (bytes: number) => client.uploads.parts.create(id, { data: await toFile(Buffer.alloc(bytes)) });
  await part(7000);
  await expect(part(4000)).rejects.toMatchObject({ status: 507, code: "insufficient_storage" });
  await expect(upload(client, 4000)).rejects.toMatchObject({ status: 507 });
  await client.uploads.cancel(id);
  await upload(client, 9000);
});
