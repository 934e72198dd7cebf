import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { compareReuse } from "../../bench/reuse/reuse.ts";
import { connect } from "../../bench/target/target.ts";
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

test("prompts that start with cached prefixes get the answers of prompts that are computed anew", async () => {
  const target = await connect("nightshift", new URL(`${server.origin}/v1/`), "full", true);
  const counts = await compareReuse(target, { models: Object.keys(KINDS), requests: 80, clients: 6, seed: 7 });
  for (const { answers, cachedTokens, promptTokens, mismatches } of counts) {
    expect(mismatches).toEqual([]);
    expect(answers).toBeGreaterThan(5);
    // A few long prompts without a prefix may be most of the tokens.
    expect(cachedTokens).toBeGreaterThan(promptTokens / 20);
  }
});

describe.each(Object.keys(KINDS))("%s memory", (model) => {
  async function run(prompt: number[]): Promise<OpenAI.Completion> {
    return server.client.completions.create({ model, prompt, max_tokens: 24, temperature: 0 });
  }

  async function cached(prompt: number[]): Promise<number> {
    return (await run(prompt)).usage!.prompt_tokens_details!.cached_tokens!;
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
    expect(await cached(PROMPTS[0]!)).toBeGreaterThanOrEqual(SHARED.length - 4);
  });

  test("a prompt that continues an earlier one computes what is new", async () => {
    const text = Array.from({ length: 520 }, (_, i) => 3 + ((13 * i) % 490));
    const lengths = [400, 400, 460, 520];
    const found = [];
    for (const length of lengths) found.push(await cached(text.slice(0, length)));
    // A recurrent state is reused as it was 4 tokens before the end of an earlier prompt.
    const recurs = model === "recurrent" || model === "hybrid";
    expect(found.slice(1)).toEqual(recurs ? [396, 396, 456] : [399, 400, 460]);
  });

  test("a long prompt that was changed in the middle is computed from before the change", async () => {
    const text = Array.from({ length: 3900 }, (_, i) => 3 + ((17 * i + ((i * i) % 23)) % 490));
    // So far before the end that a window is no longer in its cache.
    const at = 3000;
    const changed = (at: number) => [...text.slice(0, at), 5, 6, 7];
    await run(text);
    const found = await cached([...changed(at), ...text.slice(at)]);
    expect(found).toBeGreaterThan(1000);
    expect(found).toBeLessThanOrEqual(at);
    // Its last tokens are within the window of the state that was restored.
    const prompt = changed(found + 4);
    const again = await run(prompt);
    expect(again.usage!.prompt_tokens_details!.cached_tokens).toBeGreaterThanOrEqual(found);
    const anew = await server.client.completions.create({
      ...{ model, prompt, max_tokens: 24, temperature: 0 },
      ...{ echo: true, logprobs: 0 },
    });
    expect(anew.choices[0]!.text.endsWith(again.choices[0]!.text)).toBe(true);
  });

  test("concurrent prompts with a common prefix compute it once", async () => {
    const prefix = Array.from({ length: 600 }, (_, i) => 4 + ((29 * i) % 470));
    const prompts = Array.from({ length: 16 }, (_, i) => [...prefix, 30 + i, 60 + i]);
    const found = await Promise.all(prompts.map(cached));
    expect(found.filter((tokens) => tokens < prefix.length - 4)).toHaveLength(1);
  });

  test("the prompts that share a long prefix have cells of their own", async () => {
    const prefix = Array.from({ length: 1500 }, (_, i) => 4 + ((31 * i + ((i * i) % 19)) % 470));
    const prompts = Array.from({ length: 8 }, (_, i) => [
      ...prefix,
      ...Array.from({ length: 50 }, (_, j) => 5 + i * 50 + j),
    ]);
    const together = await Promise.all(prompts.map(run));
    expect(together.filter(({ usage }) => usage!.prompt_tokens_details!.cached_tokens! < prefix.length)).toHaveLength(
      1,
    );
    expect(together[3]!.choices[0]!.text).toBe((await run(prompts[3]!)).choices[0]!.text);
  });
});
