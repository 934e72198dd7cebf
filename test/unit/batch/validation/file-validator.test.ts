import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ValidateRules } from "../../../../batch/validation/file-validator.ts";
import { type InputLine, inputLines } from "../../../../batch/validation/input-lines.ts";
import { validateFile } from "../../../../batch/validation/validate-file.ts";
import { DEFAULT_REQUEST_LIMITS } from "../../../../openapi/request-limits.ts";
import type { NewLines } from "../../../../store/types/line-row.ts";
import { chatLine, jsonl } from "../../../batch/batch-rig.ts";

const RULES: ValidateRules = {
  endpoint: "/v1/chat/completions",
  limits: DEFAULT_REQUEST_LIMITS,
  models: ["demo", "other"],
  names: { aliases: { "gpt-4o": "demo", forbidden: "hidden" }, otherwise: null },
  bounds: new Map([["demo", { vocabulary: 1000, context: 50, generates: true, embedding: { width: 4, context: 50 } }]]),
  maxLines: 50_000,
  maxLineBytes: 1024 * 1024,
  maxErrors: 3,
};

async function* inChunks(bytes: Uint8Array, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function check(text: string | Uint8Array, rules: Partial<ValidateRules> = {}, chunk = 64 * 1024) {
  const lines: { number: number; customId: string; offset: number; length: number; estimatedTokens: number }[] = [];
  const take = async (some: NewLines) => {
    some.customIds.forEach((customId, i) => {
      const [number, offset] = [some.numbers[i]!, some.offsets[i]!];
      lines.push({ number, customId, offset, length: some.lengths[i]!, estimatedTokens: some.estimatedTokens[i]! });
    });
  };
  const outcome = await validateFile(inChunks(Buffer.from(text), chunk), { ...RULES, ...rules }, take, async () => {});
  return { outcome, lines };
}

async function errorsOf(text: string | Uint8Array, rules: Partial<ValidateRules> = {}) {
  const { outcome } = await check(text, rules);
  return outcome.valid ? [] : outcome.errors;
}

const GOOD = chatLine("a", "hi");

function completion(more: Record<string, unknown>) {
  return { custom_id: "c", method: "POST", url: "/v1/completions", body: { model: "demo", ...more } };
}

const COMPLETIONS = { endpoint: "/v1/completions" } as const;

describe("validation of an input file", () => {
  it("takes good lines: offset, length and an estimate of each", async () => {
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
  ])("refuses what the loaded model certainly will: %s", async (_, body, param) => {
    expect(await errorsOf(jsonl([completion(body)]), COMPLETIONS)).toMatchObject([
      { code: "invalid_request", param, line: 1 },
    ]);
    const aliased = completion({ ...body, model: "gpt-4o" });
    expect(await errorsOf(jsonl([aliased]), COMPLETIONS)).toMatchObject([{ code: "invalid_request", param, line: 1 }]);
    const names = { aliases: {}, otherwise: "demo" };
    const unknown = jsonl([completion({ ...body, model: "gpt-9" })]);
    expect(await errorsOf(unknown, { ...COMPLETIONS, names })).toMatchObject([{ code: "invalid_request", param }]);
    // A model that is still loading says so when the line runs.
    const other = completion({ ...body, model: "other" });
    expect(await errorsOf(jsonl([other]), COMPLETIONS)).toEqual([]);
  });

  it("takes what the loaded model may answer", async () => {
    const bodies = [
      { prompt: [3, 999], logit_bias: { "999": 1 }, stop_token_ids: [999] },
      { prompt: Array.from({ length: 49 }, () => 3), max_tokens: 5000 },
      { prompt: "word ".repeat(1000) },
    ];
    const lines = bodies.map((body, i) => ({ ...completion(body), custom_id: `c${i}` }));
    expect(await errorsOf(jsonl(lines), COMPLETIONS)).toEqual([]);
  });

  it("takes a model's names for one model", async () => {
    const named = ["demo", "gpt-4o", "demo"].map((model, i) => chatLine(`l${i}`, "hi", { model }));
    expect(await errorsOf(jsonl(named))).toEqual([]);
    const mixed = [chatLine("a", "hi", { model: "gpt-4o" }), chatLine("b", "hi", { model: "other" })];
    expect(await errorsOf(jsonl(mixed))).toMatchObject([{ code: "mismatched_model", line: 2 }]);
  });

  it("says what OpenAI says", async () => {
    const lines = [GOOD, GOOD, chatLine("b", "hi", { model: "other" }), { ...GOOD, custom_id: "c", url: "/v1/x" }];
    expect((await errorsOf(jsonl(lines))).map(({ message }) => message)).toEqual([
      "The custom_id 'a' for this request is a duplicate of another request. The custom_id parameter must be unique for each request in a batch.",
      "The model 'other' for this request does not match the rest of the batch. Each batch must contain requests for a single model.",
      "The URL provided for this request does not match the batch endpoint.",
    ]);
  });

  it("hands no line of a bad file out, and caps the list of errors", async () => {
    const { outcome, lines } = await check(jsonl([GOOD, "{", "{", "{", "{", "{", chatLine("z", "hi")]));
    expect(lines).toEqual([]);
    expect(outcome).toMatchObject({ valid: false, errors: [{ line: 2 }, { line: 3 }, { line: 4 }, { line: null }] });
    expect(outcome.valid ? "" : outcome.errors.at(-1)?.message).toBe("2 more lines have errors.");
  });

  it.each(["", "\n\n  \r\n", "\uFEFF"])("calls %j an empty file", async (text) => {
    expect(await errorsOf(text)).toMatchObject([{ code: "empty_file", line: null }]);
  });

  it("takes a byte order mark, CRLF, blank lines and a missing last line end; numbers count every line", async () => {
    const text = `\uFEFF${JSON.stringify(GOOD)}\r\n\r\n\n${JSON.stringify(chatLine("b", "ho"))}`;
    for (const chunk of [1, 7, 1000]) {
      const { outcome, lines } = await check(text, {}, chunk);
      expect(outcome).toEqual({ valid: true, model: "demo", lines: 2 });
      expect(lines.map(({ number, offset, length }) => [number, offset, length])).toEqual([
        [1, 3, JSON.stringify(GOOD).length],
        [4, 3 + JSON.stringify(GOOD).length + 5, JSON.stringify(chatLine("b", "ho")).length],
      ]);
    }
  });

  it("refuses bytes that are no UTF-8", async () => {
    const bytes = Buffer.concat([Buffer.from('{"custom_id":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}\n')]);
    expect(await errorsOf(bytes)).toMatchObject([{ code: "invalid_json_line", line: 1 }]);
  });

  it("refuses one line more than a batch may have, and reads no further", async () => {
    const text = jsonl(Array.from({ length: 12 }, (_, i) => chatLine(`l${i}`, "hi")));
    expect(await errorsOf(text, { maxLines: 11 })).toMatchObject([{ code: "too_many_lines", line: null }]);
    expect((await check(text, { maxLines: 12 })).outcome).toMatchObject({ valid: true });
  });

  it("looks at line breaks byte by byte, not line by line", async () => {
    let paces = 0;
    const chunk = Buffer.alloc(256 * 1024, " \n\r\n\t\n\n");
    async function* blank() {
      for (let i = 0; i < 20; i++) yield chunk;
      yield Buffer.from(JSON.stringify(GOOD));
    }
    const outcome = await validateFile(
      blank(),
      RULES,
      async () => {},
      async () => void paces++,
    );
    expect(outcome).toEqual({ valid: true, model: "demo", lines: 1 });
    // One for the line that is not blank, and at most one for a blank line that a chunk's end cuts.
    expect(paces).toBeLessThanOrEqual(1);
  });

  it("refuses a line of more values than are parsed, and says so", async () => {
    const body = `{"model":"demo","x":[${"{},".repeat(200_000)}{}]}`;
    const line = `{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":${body}}\n`;
    const [error] = await errorsOf(line);
    expect(error).toMatchObject({ code: "invalid_json_line", line: 1 });
    expect(error?.message).toMatch(/^This line has more than/);
  });

  it("tells two ids apart that are long and alike", async () => {
    const id = "字".repeat(511);
    const text = jsonl([chatLine(`${id}a`, "hi"), chatLine(`${id}b`, "hi"), chatLine(`${id}a`, "hi")]);
    const { outcome } = await check(text);
    expect(outcome).toMatchObject({ valid: false, errors: [{ code: "duplicate_custom_id", line: 3 }] });
    const good = await check(jsonl([chatLine(`${id}a`, "hi"), chatLine(`${id}b`, "hi")]));
    expect(good.lines.map(({ customId }) => customId)).toEqual([`${id}a`, `${id}b`]);
  });

  it("holds nothing of a line of 200 MB", async () => {
    const chunk = Buffer.alloc(1024 * 1024, "x");
    async function* huge() {
      for (let i = 0; i < 200; i++) yield chunk;
      yield Buffer.from(`\n${JSON.stringify(GOOD)}\n`);
    }
    const before = process.memoryUsage().arrayBuffers;
    const outcome = await validateFile(
      huge(),
      RULES,
      async () => {},
      async () => {},
    );
    expect(outcome).toMatchObject({ valid: false, errors: [{ code: "invalid_request", line: 1 }] });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(20 * 1024 * 1024);
  });
});

describe("lines of a file", () => {
  it("are the same however the bytes are cut", async () => {
    const content = fc.array(fc.constantFrom("a", "\n", "\r\n", "\uFEFF", " ", "é", "{}"), { maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(content, fc.integer({ min: 1, max: 9 }), async (parts, size) => {
        const bytes = Buffer.from(parts.join(""));
        const read = async (chunk: number) => {
          const lines: InputLine[] = [];
          for await (const some of inputLines(inChunks(bytes, chunk), 1000)) lines.push(...some);
          return lines.map((line) => ({ ...line, bytes: Buffer.from(line.bytes ?? []).toString("hex") }));
        };
        const whole = await read(1000);
        expect(await read(size)).toEqual(whole);
        for (const { offset, bytes: hex } of whole) {
          expect(bytes.subarray(offset, offset + hex.length / 2).toString("hex")).toBe(hex);
        }
      }),
    );
  });
});

describe("validation of embeddings", () => {
  const EMBEDDINGS = { endpoint: "/v1/embeddings" } as const;
  const line = (id: string, more: Record<string, unknown>) => {
    return { custom_id: id, method: "POST", url: "/v1/embeddings", body: { model: "demo", ...more } };
  };

  it("takes texts and tokens, and estimates their input alone", async () => {
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

  it("a batch has at most 50,000 inputs over all lines", async () => {
    const input = Array.from({ length: 2000 }, () => "a");
    const lines = Array.from({ length: 26 }, (_, i) => line(`e${i}`, { input }));
    expect((await check(jsonl(lines.slice(0, 25)), EMBEDDINGS)).outcome.valid).toBe(true);
    expect(await errorsOf(jsonl(lines), EMBEDDINGS)).toMatchObject([{ code: "too_many_inputs", line: 26 }]);
  });

  it("a model that only ranks, or only embeds, is told so for every line", async () => {
    const bounds = new Map([["demo", { vocabulary: 1000, context: 50, generates: false, embedding: null }]]);
    const code = "invalid_request";
    expect(await errorsOf(jsonl([line("a", { input: "a" })]), { ...EMBEDDINGS, bounds })).toMatchObject([{ code }]);
    expect(await errorsOf(jsonl([GOOD]), { bounds })).toMatchObject([{ code, param: "body.model" }]);
  });
});
