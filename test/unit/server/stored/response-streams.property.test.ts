import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { SequenceOutput } from "../../../../engine/protocol/output.ts";
import { DEFAULT_REQUEST_LIMITS } from "../../../../openapi/request-limits.ts";
import type { ResponseStreamEvent } from "../../../../openapi/responses/events.ts";
import { BackgroundLine } from "../../../../server/batch-lines/background-line.ts";
import { type StoredAnswers, storedAnswers } from "../../../../server/composition/stored-answers.ts";
import { backgroundReader } from "../../../../server/dialects/responses/background.ts";
import { responsesDialect } from "../../../../server/dialects/responses/responses.ts";
import { Seal } from "../../../../server/dialects/responses/sealed-text.ts";
import { BackgroundRuns } from "../../../../server/stored/background-runs.ts";
import { ResponseStreams } from "../../../../server/stored/response-streams.ts";
import type { Store } from "../../../../store/store.ts";
import { WebhookEndpoints } from "../../../../webhooks/endpoint.ts";
import { checkResponseStream } from "../../../streams/response-stream.ts";
import { eventsOf } from "../../../streams/sse.ts";
import { freshStore } from "../../store/test-store.ts";

const CLOCK = { now: () => 0, epochMs: () => 5_000_000 };
const OWNER = "me";
const CALLER = { owner: OWNER, key: null };
const limits = DEFAULT_REQUEST_LIMITS;
const seal = new Seal(Buffer.alloc(32, 1));
const read = responsesDialect({ limits, seal, state: null }).read;

let store: Store;
let stored: StoredAnswers;
let streams: ResponseStreams;
let runs: BackgroundRuns;
let end: () => Promise<void>;
beforeAll(async () => {
  ({ store, end } = await freshStore());
  const parts = { files: { quota: () => null }, time: CLOCK };
  stored = storedAnswers({ maxBody: 100_000, maxStored: 100_000 }, store, parts);
  const { responses } = stored;
  streams = new ResponseStreams({ store, responses, seal });
  const webhooks = new WebhookEndpoints([]);
  runs = new BackgroundRuns({ store, responses, streams, webhooks, eventsQueued: () => {}, clock: CLOCK });
});
afterAll(() => end());

const TOOLS = [
  { type: "function", name: "time", parameters: { type: "object" } },
  { type: "custom", name: "patch" },
];
const BODY = {
  model: "demo",
  input: "hi",
  tools: TOOLS,
  stream: true,
  include: ["reasoning.encrypted_content"],
  reasoning: { summary: "auto" },
};
const NOTHING = { id: 1, index: 0, text: "", reasoning: "", tokens: 1, finish: null };
const FINISH = { reason: "stop", stop: null, completionTokens: 1, reasoningTokens: 0 } as const;
const USAGE = {
  prompt_tokens: 1,
  completion_tokens: 1,
  total_tokens: 2,
  prompt_tokens_details: { cached_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0 },
};
const END = { usage: USAGE, times: { queue: 0, prefill: 0, decode: 0 } };

/** One step: text, reasoning, or a piece of a call. */
const step = fc.record({
  kind: fc.constantFrom("text", "reasoning", "call"),
  piece: fc.string({ minLength: 1, maxLength: 4 }),
  begins: fc.boolean(),
  custom: fc.boolean(),
  bytes: fc.uint8Array({ minLength: 1, maxLength: 3 }),
});
type Step = typeof step extends fc.Arbitrary<infer Each> ? Each : never;

function outputsOf(steps: readonly Step[]): SequenceOutput[] {
  let calls = 0;
  return steps.map(({ kind, piece, begins, custom, bytes }, place) => {
    if (kind === "reasoning") return { ...NOTHING, reasoning: piece };
    if (kind === "text") return { ...NOTHING, text: piece, logprobs: [{ bytes, logprob: -1, top: [] }] };
    // Text ends a call.
    const isNew = begins || steps[place - 1]?.kind !== "call";
    if (isNew) calls += 1;
    const begun = isNew ? { id: `call_${place}`, name: custom ? "patch" : "time" } : {};
    return { ...NOTHING, toolCalls: [{ index: calls - 1, arguments: isNew ? '{"input":"' : "a", ...begun }] };
  });
}

async function queue(id: string): Promise<void> {
  const parse = await backgroundReader({ limits, seal, state: stored.responseState })(BODY, OWNER, () => {});
  const { response, input, stream } = parse()({ id, created: 5000, model: "demo" });
  expect(stream).toEqual({ sealed: true });
  const row = stored.responseState.row(CALLER, response, input);
  expect(await store.responses.keep({ ...row, stream: { sealed: 1 } })).toBe("kept");
}

/** Runs the response once; without an end its line is as one that was stopped. */
async function run(id: string, outputs: readonly SequenceOutput[], ends: boolean): Promise<void> {
  const line = new BackgroundLine((await runs.begin(OWNER, id.replace("resp_", "batch_")))!, runs, CLOCK);
  const request = line.kept(read(BODY, OWNER));
  const identity = { ...line.identity, model: "demo", tier: "default" as const, fingerprint: "" };
  const sink = line.sink(request, identity, () => {});
  sink.started();
  for (const output of outputs) sink.output(0, output);
  if (ends) {
    sink.output(0, { ...NOTHING, tokens: 0, finish: FINISH });
    await request.keep!({ identity, choices: sink.choices, end: END, caller: CALLER, requestId: null });
  }
  await line.settle({ how: "stopped" });
}

async function sent(id: string, after = -1) {
  const { signal } = new AbortController();
  let text = "";
  for await (const piece of streams.events({ owner: OWNER, id, after, signal })) text += piece;
  return { named: eventsOf(text), events: eventsOf(text).map(({ data }): ResponseStreamEvent => JSON.parse(data)) };
}

let count = 0;

test("a stream is the same live, again and from any number on, also of a run that began again", async () => {
  const answers = fc.tuple(fc.array(step, { maxLength: 6 }), fc.array(step, { maxLength: 12 }), fc.nat());
  await fc.assert(
    fc.asyncProperty(answers, async ([abandoned, steps, pick]) => {
      const id = `resp_${++count}`;
      await queue(id);
      const live = sent(id);
      if (abandoned.length > 0) await run(id, outputsOf(abandoned), false);
      await run(id, outputsOf(steps), true);
      const { events, named } = await sent(id);
      checkResponseStream(named);
      const numbers = events.map(({ sequence_number }) => sequence_number);
      const [first] = numbers.slice(2);
      expect(numbers).toEqual([0, 1, ...numbers.slice(2).map((_, place) => first! + place)]);
      const { events: seen, named: all } = await live;
      checkResponseStream(all);
      expect(seen.filter(({ sequence_number: number }) => numbers.includes(number))).toEqual(events);
      const after = pick % events.length;
      expect((await sent(id, numbers[after])).events).toEqual(events.slice(after + 1));
      const response = await stored.responses.get(OWNER, id);
      expect(events.at(-1)).toMatchObject({ type: "response.completed", response });
    }),
    { numRuns: 40 },
  );
});
