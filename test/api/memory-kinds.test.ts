import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { randomModels } from "./random-models.ts";
import { startServer, type TestServer } from "./server.ts";

/** One tiny random model per kind of memory in llama.cpp; their output is noise, but deterministic. */
const KINDS = { full: "tiny-full", swa: "tiny-swa", recurrent: "tiny-recurrent", hybrid: "tiny-hybrid" };

const folder = mkdtempSync(join(tmpdir(), "nightshift-kinds-"));
let server: TestServer;
beforeAll(async () => {
  const models = await randomModels(folder, KINDS);
  // Fewer sequences than prompts: a reused id must be clean.
  server = await startServer("--threads", "1", "--sequences", "4", ...models);
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true });
});

const SHARED = Array.from({ length: 80 }, (_, i) => 100 + ((7 * i) % 300));
const PROMPTS = Array.from({ length: 6 }, (_, i) => [...SHARED, 50 + i, 60 + i]);

describe.each(Object.keys(KINDS))("%s memory", (model) => {
  async function run(prompt: number[]): Promise<OpenAI.Completion> {
    return server.client.completions.create({ model, prompt, max_tokens: 24, temperature: 0 });
  }

  async function leave(prompt: number[], chunks: number): Promise<void> {
    const body = { model, prompt, max_tokens: 500, temperature: 0, stream: true as const };
    for await (const _ of await server.client.completions.create(body)) if (--chunks === 0) break;
  }

  test("prompts with a common prefix get the answers that each gets alone", async () => {
    const alone = [];
    for (const prompt of PROMPTS) alone.push(await run(prompt));
    const texts = alone.map(({ choices }) => choices[0]!.text);
    expect(new Set(texts).size).toBeGreaterThan(1);
    for (let round = 0; round < 2; round++) {
      const leaving = PROMPTS.map((prompt, i) => leave(prompt, i + 1));
      const together = await Promise.all(PROMPTS.map(run));
      expect(together.map(({ choices }) => choices[0]!.text)).toEqual(texts);
      await Promise.all(leaving);
    }
    const reused = (await run(PROMPTS[0]!)).usage!.prompt_tokens_details!.cached_tokens;
    if (model === "full") expect(reused).toBeGreaterThanOrEqual(SHARED.length);
    else expect(reused).toBe(0);
  });
});
