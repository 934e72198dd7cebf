import { describe, expect, it } from "vitest";
import { chatLine, jsonl } from "../../../batch/batch-rig.ts";
import { check, errorsOf } from "./check-file.ts";

const GOOD = chatLine("a", "hi");

describe("validation of embeddings", () => {
  const EMBEDDINGS = { endpoint: "/v1/embeddings" } as const;
  const line = (id: string, more: Record<string, unknown>) => {
    return { custom_id: id, method: "POST", url: "/v1/embeddings", body: { model: "demo", ...more } };
  };

  it("accepts texts and tokens, and estimates their input alone", async () => {
    const { outcome, lines } = await check(
      jsonl([line("a", { input: "a text of 25 characters.." }), line("b", { input: [[1, 2], [3]] })]),
      EMBEDDINGS,
    );
    expect(outcome.valid).toBe(true);
    expect(lines.map(({ estimatedTokens }) => estimatedTokens)).toEqual([7, 3]);
  });

  it.each<[Record<string, unknown>, string]>([
    [{ input: "" }, "body.input"],
    [{ input: [1000] }, "body.input"],
    [{ input: Array.from({ length: 51 }, () => 1) }, "body.input"],
    [{ input: "a", dimensions: 5 }, "body.dimensions"],
  ])("%j is an invalid line", async (more, param) => {
    expect(await errorsOf(jsonl([line("a", more)]), EMBEDDINGS)).toMatchObject([{ code: "invalid_request", param }]);
  });

  it("refuses more than 50,000 inputs over all lines", async () => {
    const input = Array.from({ length: 2000 }, () => "a");
    const lines = Array.from({ length: 26 }, (_, i) => line(`e${i}`, { input }));
    expect((await check(jsonl(lines.slice(0, 25)), EMBEDDINGS)).outcome.valid).toBe(true);
    expect(await errorsOf(jsonl(lines), EMBEDDINGS)).toMatchObject([{ code: "too_many_inputs", line: 26 }]);
  });

  it("refuses lines for a model that only ranks or only embeds", async () => {
    const bounds = new Map([
      ["demo", { vocabulary: 1000, context: 50, generates: false, infill: false, embedding: null, upstream: null }],
    ]);
    const code = "invalid_request";
    expect(await errorsOf(jsonl([line("a", { input: "a" })]), { ...EMBEDDINGS, bounds })).toMatchObject([{ code }]);
    expect(await errorsOf(jsonl([GOOD]), { bounds })).toMatchObject([{ code, param: "body.model" }]);
  });
});

describe("validation of completions with a suffix", () => {
  const line = (more: Record<string, unknown>) =>
    jsonl([
      { custom_id: "a", method: "POST", url: "/v1/completions", body: { model: "demo", max_tokens: 0, ...more } },
    ]);
  const bounds = (infill: boolean) =>
    new Map([["demo", { vocabulary: 1000, context: 50, generates: true, infill, embedding: null, upstream: null }]]);
  const COMPLETIONS = { endpoint: "/v1/completions" } as const;

  it("counts the suffix once for each prompt", async () => {
    const body = { prompt: ["abcd", "abcd"], suffix: "efgh" };
    const { lines } = await check(line(body), { ...COMPLETIONS, bounds: bounds(true) });
    expect(lines.map(({ estimatedTokens }) => estimatedTokens)).toEqual([4]);
  });

  it("refuses it for a model without the tokens, unless it is empty", async () => {
    const errors = (suffix: string) =>
      errorsOf(line({ prompt: "a", suffix }), { ...COMPLETIONS, bounds: bounds(false) });
    expect(await errors("b")).toMatchObject([{ code: "invalid_request", param: "body.model" }]);
    expect(await errors("")).toEqual([]);
  });
});
