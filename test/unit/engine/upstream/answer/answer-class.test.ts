import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import {
  CONSEQUENCES,
  classify,
  type Failure,
  type FailureContext,
  mayRetry,
} from "../../../../../engine/upstream/answer/answer-class.ts";

const NOW = Date.UTC(2026, 10, 24, 6, 0, 0);
const CONTEXT: FailureContext = { content: false, healthy: true, priority: false };

type Headers = Record<string, string>;
const reader = (headers: Headers) => (name: string) => headers[name] ?? null;

function response(status: number, body: unknown = "", headers: Headers = {}): Failure {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { kind: "response", status, body: text, header: reader(headers) };
}
const event = (value: unknown, headers: Headers = {}): Failure => ({
  kind: "event",
  event: value,
  header: reader(headers),
});
const error = (message: string, fields: Record<string, unknown> = {}) => ({ error: { message, ...fields } });
const network = (code: string): Failure => ({ kind: "network", code });

const DROPPED = "x-llm-d-request-dropped-reason";
const LONG_PROMPT = error("This model's maximum context length is 4096 tokens.", {
  type: "BadRequestError",
  code: 400,
});

/** Title, failure, class (of `ours`, with what is at fault), context where it is not the usual one. */
const TABLE: readonly [string, Failure, string, Partial<FailureContext>?][] = [
  ["vLLM past --max-num-queued-reqs", response(503, error("Too many queued requests", { code: 503 })), "busy"],
  ["vLLM whose engine died", response(500, error("EngineCore encountered an issue.", { code: 500 })), "fault"],
  ["vLLM whose health check fails", response(503), "gone", { healthy: false }],
  ["vLLM at a prompt that is too long", response(400, LONG_PROMPT), "client"],
  ["vLLM at the same within a stream", event(LONG_PROMPT), "client"],
  [
    "vLLM at an unknown model",
    response(404, error("The model `x` does not exist.", { type: "NotFoundError" })),
    "ours model",
  ],
  [
    "a newer model of OpenAI's",
    response(
      400,
      error(
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      ),
    ),
    "ours max_tokens",
  ],
  [
    "a message that quotes it",
    response(400, error("Invalid: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.")),
    "client",
  ],
  [
    "vLLM without priority scheduling",
    response(400, error("Got priority 10 but Priority scheduling is not enabled.")),
    "ours priority",
    { priority: true },
  ],
  ["a 400 with the same words, where no priority was sent", response(400, error("Unknown field priority")), "client"],
  [
    "FastAPI at the field itself",
    response(422, { detail: [{ loc: ["body", "priority"], msg: "Extra inputs are not permitted" }] }),
    "ours priority",
    { priority: true },
  ],
  ["hosted, at the field", response(400, error("Unknown parameter: 'priority'.")), "ours priority", { priority: true }],
  [
    "another field beside a priority",
    response(400, error("Unknown parameter: 'top_x'.")),
    "client",
    { priority: true },
  ],
  [
    "SGLang past --max-queued-requests",
    response(503, { object: "error", message: "The request queue is full." }),
    "busy",
  ],
  ["SGLang streamed", event({ error: { message: "The request queue is full." }, code: 503 }), "busy"],
  ["SGLang streamed, words only", event(error("The request queue is full.")), "busy"],
  ["SGLang, displaced", event(error("The request is aborted by a higher priority request.", { code: 503 })), "busy"],
  ["an event of the client's fault, with its words", event(error("'overloaded' is no tool", { code: 400 })), "client"],
  ["SGLang after content", event(error("The request is aborted.", { code: 503 })), "fault", { content: true }],
  ["TGI", response(429, { error: "Model is overloaded", error_type: "overloaded" }), "busy"],
  ["TGI within a stream", event({ error: "Model is overloaded", error_type: "overloaded" }), "busy"],
  ["TGI at a wrong input", response(422, { error: "Input validation error", error_type: "validation" }), "client"],
  [
    "llama-server while it loads",
    response(503, error("Loading model", { code: 503, type: "unavailable_error" })),
    "gone",
  ],
  ["llama-server without a free slot", response(503, error("no slot available", { code: 503 })), "busy"],
  ["llama-server without embeddings", response(501, error("This server does not support embeddings.")), "client"],
  ["llm-d, saturated", response(429, "", { [DROPPED]: "rejected-saturated" }), "busy"],
  ["llm-d, saturated as 503", response(503, "", { [DROPPED]: "rejected-saturated" }), "busy"],
  ["llm-d, waited too long", response(503, "", { [DROPPED]: "rejected-ttl-expired" }), "busy"],
  ["llm-d without endpoints", response(503, "", { [DROPPED]: "rejected-no-endpoints" }), "gone"],
  ["Envoy without endpoints", response(503, "no healthy upstream"), "gone"],
  ["Dynamo", response(529, error("Service temporarily unavailable: all workers are busy")), "busy"],
  ["Ray Serve", response(503, error("Request dropped: queue is full")), "busy"],
  ["smg, queued too long", response(408, error("queue timeout")), "busy"],
  [
    "Anthropic's form",
    response(529, { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }),
    "busy",
  ],
  ["the same within a stream", event({ type: "error", error: { type: "overloaded_error" } }), "busy"],
  ["hosted, a rate", response(429, error("Rate limit reached for requests", { code: "rate_limit_exceeded" })), "busy"],
  ["hosted, no funds", response(429, error("…", { type: "insufficient_quota" })), "ours funds"],
  ["hosted, payment", response(402), "ours funds"],
  ["hosted, a wrong key", response(401, error("Incorrect API key provided")), "ours key"],
  ["hosted, a model out of reach", response(403, error("…", { code: "model_not_found" })), "ours model"],
  ["hosted, within a stream", event(error("[503] the service is busy")), "busy"],
  ["Nightshift, full", response(503, error("…", { code: "server_is_overloaded" })), "busy"],
  ["Nightshift, loading", response(503, error("…", { code: "model_loading" })), "gone"],
  ["Nightshift within a stream", event(error("…", { type: "server_error", code: "engine_died" })), "fault"],
  ["a wrong base URL", response(404, { detail: "Not Found" }), "ours path"],
  ["a redirect", response(308), "ours path"],
  ["a proxy without its backend", response(502, "<html>Bad Gateway</html>"), "gone"],
  ["a proxy that waited", response(504), "gone"],
  ["a CDN without its origin", response(522), "gone"],
  ["an event that says nothing", event(error("something broke")), "fault"],
  ["an event of a general kind with busy words", event(error("Rate limit reached", { code: 500 })), "busy"],
  ["no JSON, no end", { kind: "broken" }, "fault"],
  ["refused", network("ECONNREFUSED"), "gone"],
  ["reset", network("ECONNRESET"), "gone"],
  ["reset after content", network("UND_ERR_SOCKET"), "gone", { content: true }],
  ["no such host", network("ENOTFOUND"), "gone"],
  ["no first byte", network("UND_ERR_HEADERS_TIMEOUT"), "gone"],
  ["no HTTP", network("HPE_INVALID_CONSTANT"), "fault"],
];

describe("the class of a failed answer", () => {
  test.each(TABLE)("%s", (_, failure, expected, context = {}) => {
    const { class: name, fault } = classify(failure, { ...CONTEXT, ...context }, NOW);
    expect(fault === null ? name : `${name} ${fault}`).toBe(expected);
  });

  it("retries what another try may heal, and nothing else", () => {
    const retried = TABLE.filter(([, failure, , context]) =>
      mayRetry(classify(failure, { ...CONTEXT, ...context }, NOW)),
    );
    expect(new Set(retried.map(([, , name]) => name))).toEqual(
      new Set(["busy", "gone", "fault", "ours model", "ours priority", "ours max_tokens"]),
    );
  });

  it("counts no class for both breaker and concurrency", () => {
    const counted = Object.entries(CONSEQUENCES).map(([name, { breaker, limit }]) => [name, breaker, limit]);
    expect(counted).toEqual([
      ["busy", false, true],
      ["gone", true, false],
      ["fault", true, false],
      ["ours", false, false],
      ["client", false, false],
    ]);
  });

  it("takes any bytes and any event without throwing", () => {
    const status = fc.integer({ min: 100, max: 599 });
    fc.assert(
      fc.property(status, fc.oneof(fc.string(), fc.json()), fc.jsonValue(), (code, body, value) => {
        for (const failure of [response(code, body), event(value)]) {
          const result = classify(failure, { ...CONTEXT, priority: true }, NOW);
          expect(Object.keys(CONSEQUENCES)).toContain(result.class);
          expect(result.error?.message.length).toBeLessThanOrEqual(2000);
        }
      }),
    );
  });
});

describe("the error as it was written", () => {
  it.each([
    [
      error("m", { type: "t", code: "c", param: "p" }),
      { message: "m", type: "t", code: "c", param: "p", status: null },
    ],
    [
      { object: "error", message: "m", code: 400 },
      { message: "m", type: null, code: null, param: null, status: 400 },
    ],
    [error("m", { code: "429" }), { message: "m", type: null, code: "429", param: null, status: 429 }],
    [{ detail: "m" }, { message: "m", type: null, code: null, param: null, status: null }],
    [
      { detail: [{ loc: ["body", "messages", 0, "content"], msg: "bad" }] },
      { message: "messages: bad", type: null, code: null, param: "messages", status: null },
    ],
    ["plain text", { message: "plain text", type: null, code: null, param: null, status: null }],
  ])("is read from %j", (body, expected) => {
    expect(classify(response(400, body), CONTEXT, NOW).error).toEqual(expected);
  });
});
