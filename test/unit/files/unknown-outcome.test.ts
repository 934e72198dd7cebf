import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { StoreError } from "../../../store/types/store-error.ts";
import { startTestServer } from "../server/test-server.ts";
import { bytesOf, openFileStores } from "./files-rig.ts";

const LIMIT = { bytes: 1000, error: () => new Error("never") as never };
const META = { owner: "local", purpose: "user_data", filename: "a.txt", expiresAfter: null } as const;

/** Simulates the end of the store's thread between an operation's commit and its reply. */
function losesAnswer<Args, Result>(operation: (args: Args) => Promise<Result>): (args: Args) => Promise<Result> {
  return async (args) => {
    await operation(args);
    throw new StoreError("closed", "The store's thread is over");
  };
}

test("a file whose row may be committed keeps its bytes for the next start", async () => {
  const stores = await openFileStores();
  const { insert } = stores.store.files;
  stores.store.files.insert = losesAnswer(insert);
  const incoming = await stores.files.receive("local", bytesOf("kept"), LIMIT);
  await expect(stores.files.add(incoming, META)).rejects.toMatchObject({ code: "closed" });
  await stores.store.close();
  const after = await openFileStores({ dataDir: stores.dataDir });
  const [row] = (await after.files.list({ owner: "local", purpose: null, limit: 2, after: null, order: "asc" })).rows;
  expect(readFileSync(after.files.pathOf(row!.id), "utf8")).toBe("kept");
});

test("a part and an upload's file that may be committed keep their bytes", async () => {
  const stores = await openFileStores();
  const { addPart, complete } = stores.store.uploads;
  const { id } = await stores.uploads.create({ ...META, bytes: 4, mimeType: "text/plain" });
  stores.store.uploads.addPart = losesAnswer(addPart);
  const received = await stores.uploads.receivePart("local", bytesOf("kept"));
  await expect(stores.uploads.addPart("local", id, received)).rejects.toMatchObject({ code: "closed" });
  const [part] = await stores.store.uploads.parts({ uploadId: id });
  stores.store.uploads.complete = losesAnswer(complete);
  await expect(stores.uploads.complete("local", id, [part!.id], null)).rejects.toMatchObject({ code: "closed" });
  await stores.store.close();
  const after = await openFileStores({ dataDir: stores.dataDir });
  const { upload, file } = await after.uploads.complete("local", id, [part!.id], null);
  expect(upload.status).toBe("completed");
  expect(readFileSync(after.files.pathOf(file.id), "utf8")).toBe("kept");
});

test("content deleted between the read of its row and of its bytes is 404", async () => {
  const server = await startTestServer();
  const form = new FormData();
  form.set("purpose", "user_data");
  form.set("file", new Blob(["gone"]), "a.txt");
  const made = await fetch(`${server.url}/v1/files`, { method: "POST", body: form });
  const { id }: { id?: string } = Object(await made.json());
  const { get } = server.store.files;
  server.store.files.get = async (args) => {
    const row = await get(args);
    if (row !== null) {
      await server.store.files.remove(args);
      rmSync(join(server.dataDir, "files", args.id));
    }
    return row;
  };
  expect((await fetch(`${server.url}/v1/files/${id}/content`)).status).toBe(404);
  await server.close();
});
