import { describe, expect, it } from "vitest";
import { chatLine, jsonl } from "../../../batch/batch-rig.ts";
import { check, errorsOf } from "./check-file.ts";

const GOOD = chatLine("a", "hi");

function completion(more: Record<string, unknown>) {
  return { custom_id: "c", method: "POST", url: "/v1/completions", body: { model: "demo", ...more } };
}

const COMPLETIONS = { endpoint: "/v1/completions" } as const;

describe("validation of an input file", () => {
  it("returns offset, length and token estimate of each good line", async () => {
    const text = jsonl([GOOD, chatLine("b", "what else?", { max_tokens: 100 })]);
    const { outcome, lines } = await check(text);
    expect(outcome).toEqual({ valid: true, model: "demo", lines: 2 });
    expect(lines.map(({ number, customId }) => [number, customId])).toEqual([
      [1, "a"],
      [2, "b"],
    ]);
    for (const { offset, length } of lines) {
      expect(
        JSON.parse(
          Buffer.from(text)
            .subarray(offset, offset + length)
            .toString(),
        ),
      ).toHaveProperty("custom_id");
    }
    expect(lines[1]).toMatchObject({ estimatedTokens: 104 });
  });

  it.each([
    ["not JSON", "{", "invalid_json_line", null],
    ["no object", "[1]", "invalid_json_line", null],
    ["a NUL in its text", chatLine("a", "h\0i"), "invalid_json_line", null],
    ["half of a surrogate pair in its text", chatLine("a", "h\ud800i"), "invalid_json_line", null],
    [
      "nested deeper than any request",
      `{"custom_id":${"[".repeat(100)}1${"]".repeat(100)}}`,
      "invalid_json_line",
      null,
    ],
    ["no custom_id", { ...GOOD, custom_id: undefined }, "missing_required_parameter", "custom_id"],
    ["a custom_id that is a number", { ...GOOD, custom_id: 7 }, "invalid_type", "custom_id"],
    ["a custom_id that is too long", { ...GOOD, custom_id: "x".repeat(513) }, "invalid_value", "custom_id"],
    ["no method", { ...GOOD, method: undefined }, "missing_required_parameter", "method"],
    ["another method", { ...GOOD, method: "GET" }, "invalid_method", "method"],
    ["no url", { ...GOOD, url: undefined }, "missing_required_parameter", "url"],
    ["another url", { ...GOOD, url: "/v1/completions" }, "invalid_url", "url"],
    ["no body", { ...GOOD, body: undefined }, "missing_required_parameter", "body"],
    ["no model", { ...GOOD, body: { messages: [] } }, "invalid_request", "body.model"],
    ["an unknown model", chatLine("a", "hi", { model: "gpt-9" }), "model_not_found", "body.model"],
    [
      "an alias of a model that its owner may not use",
      chatLine("a", "hi", { model: "forbidden" }),
      "model_not_found",
      "body.model",
    ],
    ["a dry run", chatLine("a", "hi", { nightshift: { dry_run: true } }), "invalid_request", "body.nightshift.dry_run"],
    ["stream: true", chatLine("a", "hi", { stream: true }), "streaming_unsupported", "body.stream"],
    [
      "a body that its endpoint refuses",
      chatLine("a", "hi", { temperature: 9 }),
      "invalid_request",
      "body.temperature",
    ],
  ])("refuses %s", async (_, line, code, param) => {
    expect(await errorsOf(jsonl([line]))).toMatchObject([{ code, param, line: 1 }]);
  });

  it.each([
    ["a biased token", { prompt: "x", logit_bias: { "1000": 1 } }, "body.logit_bias"],
    ["a stop token", { prompt: "x", stop_token_ids: [3, 1000] }, "body.stop_token_ids"],
    ["a token of the prompt", { prompt: [3, 1000] }, "body.prompt"],
    ["a token of one of the prompts", { prompt: [[3], [1000]] }, "body.prompt"],
    ["as many tokens as the context", { prompt: Array.from({ length: 50 }, () => 3) }, "body.prompt"],
  ])("refuses a line beyond the bounds of its model: %s", async (_, body, param) => {
    expect(await errorsOf(jsonl([completion(body)]), COMPLETIONS)).toMatchObject([
      { code: "invalid_request", param, line: 1 },
    ]);
    const aliased = completion({ ...body, model: "gpt-4o" });
    expect(await errorsOf(jsonl([aliased]), COMPLETIONS)).toMatchObject([{ code: "invalid_request", param, line: 1 }]);
    const names = { aliases: {}, otherwise: "demo" };
    const unknown = jsonl([completion({ ...body, model: "gpt-9" })]);
    expect(await errorsOf(unknown, { ...COMPLETIONS, names })).toMatchObject([{ code: "invalid_request", param }]);
    // A model that is loading refuses the line when it runs.
    const other = completion({ ...body, model: "other" });
    expect(await errorsOf(jsonl([other]), COMPLETIONS)).toEqual([]);
  });

  it("accepts lines within the bounds of the loaded model", async () => {
    const bodies = [
      { prompt: [3, 999], logit_bias: { "999": 1 }, stop_token_ids: [999] },
      { prompt: Array.from({ length: 49 }, () => 3), max_tokens: 5000 },
      { prompt: "word ".repeat(1000) },
    ];
    const lines = bodies.map((body, i) => ({ ...completion(body), custom_id: `c${i}` }));
    expect(await errorsOf(jsonl(lines), COMPLETIONS)).toEqual([]);
  });

  it("treats all names of a model as one model", async () => {
    const named = ["demo", "gpt-4o", "demo"].map((model, i) => chatLine(`l${i}`, "hi", { model }));
    expect(await errorsOf(jsonl(named))).toEqual([]);
    const mixed = [chatLine("a", "hi", { model: "gpt-4o" }), chatLine("b", "hi", { model: "other" })];
    expect(await errorsOf(jsonl(mixed))).toMatchObject([{ code: "mismatched_model", line: 2 }]);
  });

  it("has the error messages of OpenAI", async () => {
    const lines = [GOOD, GOOD, chatLine("b", "hi", { model: "other" }), { ...GOOD, custom_id: "c", url: "/v1/x" }];
    expect((await errorsOf(jsonl(lines))).map(({ message }) => message)).toEqual([
      "The custom_id 'a' for this request is a duplicate of another request. The custom_id parameter must be unique for each request in a batch.",
      "The model 'other' for this request does not match the rest of the batch. Each batch must contain requests for a single model.",
      "The URL provided for this request does not match the batch endpoint.",
    ]);
  });

  it("emits no line of a bad file, and caps the list of errors", async () => {
    const { outcome, lines } = await check(jsonl([GOOD, "{", "{", "{", "{", "{", chatLine("z", "hi")]));
    expect(lines).toEqual([]);
    expect(outcome).toMatchObject({ valid: false, errors: [{ line: 2 }, { line: 3 }, { line: 4 }, { line: null }] });
    expect(outcome.valid ? "" : outcome.errors.at(-1)?.message).toBe("2 more lines have errors.");
  });

  it.each(["", "\n\n  \r\n", "\uFEFF"])("calls %j an empty file", async (text) => {
    expect(await errorsOf(text)).toMatchObject([{ code: "empty_file", line: null }]);
  });

  it("refuses bytes that are not UTF-8", async () => {
    const bytes = Buffer.concat([Buffer.from('{"custom_id":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}\n')]);
    expect(await errorsOf(bytes)).toMatchObject([{ code: "invalid_json_line", line: 1 }]);
  });

  it("refuses one line more than a batch may have, and reads no further", async () => {
    const text = jsonl(Array.from({ length: 12 }, (_, i) => chatLine(`l${i}`, "hi")));
    expect(await errorsOf(text, { maxLines: 11 })).toMatchObject([{ code: "too_many_lines", line: null }]);
    expect((await check(text, { maxLines: 12 })).outcome).toMatchObject({ valid: true });
  });

  it("refuses a line with more JSON values than the bound", async () => {
    const body = `{"model":"demo","x":[${"{},".repeat(200_000)}{}]}`;
    const line = `{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":${body}}\n`;
    const [error] = await errorsOf(line);
    expect(error).toMatchObject({ code: "invalid_json_line", line: 1 });
    expect(error?.message).toMatch(/^This line has more than/);
  });

  it("distinguishes long ids with a common prefix", async () => {
    const id = "字".repeat(511);
    const text = jsonl([chatLine(`${id}a`, "hi"), chatLine(`${id}b`, "hi"), chatLine(`${id}a`, "hi")]);
    const { outcome } = await check(text);
    expect(outcome).toMatchObject({ valid: false, errors: [{ code: "duplicate_custom_id", line: 3 }] });
    const good = await check(jsonl([chatLine(`${id}a`, "hi"), chatLine(`${id}b`, "hi")]));
    expect(good.lines.map(({ customId }) => customId)).toEqual([`${id}a`, `${id}b`]);
  });
});
