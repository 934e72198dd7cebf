import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startServer } from "../api/server.ts";
import { LIGATURE, writeUnigramModel } from "../api/unigram-model.ts";

test("a text with more tokens than bytes is tokenized, and the engine continues", async () => {
  const folder = mkdtempSync(join(tmpdir(), "nightshift-unigram-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "unigram.gguf");
  await writeUnigramModel(path);
  const server = await startServer("--threads", "1", "--model", `unigram=${path}`);
  onTestFinished(() => server.stop());
  const [engine] = server.enginePids;

  const input = LIGATURE.repeat(12);
  const embedded = await server.client.embeddings.create({ model: "unigram", input });
  expect(embedded.usage.prompt_tokens).toBeGreaterThan(Buffer.byteLength(input) + 8);
  const long = LIGATURE.repeat(6000);
  const response = await server.post("/v1/tokenize", { model: "unigram", prompt: long });
  const { count } = (await response.json()) as { count: number };
  expect(count).toBeGreaterThan(Buffer.byteLength(long) + 8);
  expect(server.enginePids).toEqual([engine]);
});
