import OpenAI, { APIError, toFile } from "openai";
import { expect, onTestFinished, test } from "vitest";
import { startTestServer } from "../unit/server/test-server.ts";
import { newBatch } from "../unit/store/rows.ts";

test("the input of a running batch cannot be deleted, and the SDK does not retry", async () => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  let calls = 0;
  const client = new OpenAI({
    baseURL: `${server.url}/v1`,
    apiKey: "none",
    maxRetries: 2,
    fetch: (...args) => {
      calls += 1;
      return fetch(...args);
    },
  });
  const { id } = await client.files.create({ file: await toFile(Buffer.from("{}\n"), "in.jsonl"), purpose: "batch" });
  await server.store.batches.create({
    batch: newBatch("batch_1", { inputFileId: id }),
    idempotency: null,
    maxOpen: null,
  });
  calls = 0;
  const error: unknown = await client.files.delete(id).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(APIError);
  expect(error).toMatchObject({ status: 409, code: "file_in_use", type: "invalid_request_error" });
  expect(calls).toBe(1);
  expect(await (await client.files.content(id)).text()).toBe("{}\n");

  await server.store.batches.fail({ id: "batch_1", now: 1, errors: "{}", model: null, events: [] });
  expect(await client.files.delete(id)).toMatchObject({ deleted: true });
});
