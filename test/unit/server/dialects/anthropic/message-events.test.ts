import { describe, expect, test } from "vitest";
import type { SequenceFinish } from "../../../../../engine/protocol/output.ts";
import { messageEvent } from "../../../../../openapi/anthropic/message.ts";
import { ApiError } from "../../../../../openapi/api-error.ts";
import { wholeMessage } from "../../../../../server/dialects/anthropic/message.ts";
import { MessageEvents } from "../../../../../server/dialects/anthropic/message-events.ts";
import type { Reported } from "../../../../../server/dialects/anthropic/reported.ts";
import type { TextDelta } from "../../../../../server/generation/output/stream-format.ts";

const IDENTITY = { id: "msg_1", created: 0, model: "demo", tier: "priority", fingerprint: "f" } as const;
const FINISH: SequenceFinish = { reason: "stop", stop: null, completionTokens: 5, reasoningTokens: 2 };
const END = {
  usage: {
    prompt_tokens: 10,
    completion_tokens: 5,
    total_tokens: 15,
    prompt_tokens_details: { cached_tokens: 7 },
    completion_tokens_details: { reasoning_tokens: 2 },
  },
  times: { queue: 0, prefill: 0, decode: 0 },
};
const SHOWN: Reported = { maxTokens: 9, thoughts: "text" };

function said(fields: Partial<TextDelta>): TextDelta {
  return { text: "", reasoning: "", ...fields };
}

/** The data of all events, each under its own name. */
function eventsOf(stream: string) {
  return stream
    .split("\n\n")
    .filter(Boolean)
    .map((event) => {
      const [, name, data] = /^event: (\w+)\ndata: (.+)$/.exec(event)!;
      const value = messageEvent.parse(JSON.parse(data!));
      expect(value.type).toBe(name);
      return value;
    });
}

function written(deltas: Partial<TextDelta>[], reported = SHOWN, finish = FINISH) {
  const format = new MessageEvents(IDENTITY, reported, "req_1");
  const start = format.first(0, { promptTokens: 10, cachedTokens: 7, prompt: "" });
  const parts = deltas.map((delta) => format.delta(0, said(delta)));
  return eventsOf([start, ...parts, format.last(0, finish), format.end(END)].join(""));
}

/** One word for each event of a block. */
function blocks(deltas: Partial<TextDelta>[], reported = SHOWN): string[] {
  return written(deltas, reported).flatMap((event) => {
    switch (event.type) {
      case "content_block_start":
        return [`${event.index} ${event.content_block.type}`];
      case "content_block_delta":
        return [`${event.index} +${Object.values(event.delta)[1]}`];
      case "content_block_stop":
        return [`${event.index} stop`];
      default:
        return [];
    }
  });
}

const CALL = { index: 0, id: "call_1", name: "f", arguments: "" };

describe("blocks", () => {
  test("follow one another, each closed before the next", () => {
    const signature = Buffer.from("nightshift").toString("base64");
    const deltas = [
      { reasoning: "Hm" },
      { reasoning: ".", text: "\n" },
      { text: "A" },
      { text: "B", toolCalls: [CALL, { index: 0, arguments: '{"a"' }] },
      {
        toolCalls: [
          { index: 0, arguments: ":1}" },
          { ...CALL, index: 1, id: "call_2" },
        ],
      },
    ];
    expect(blocks(deltas)).toEqual([
      ...["0 thinking", "0 +Hm", "0 +.", `0 +${signature}`, "0 stop"],
      ...["1 text", "1 +\nA", "1 +B", "1 stop"],
      ...["2 tool_use", '2 +{"a"', "2 +:1}", "2 stop", "3 tool_use", "3 stop"],
    ]);
  });

  test("have no reasoning that was not asked for, and no text of white space alone", () => {
    const deltas = [{ reasoning: "Hm" }, { text: "\n" }, { toolCalls: [CALL] }, { text: " " }];
    expect(blocks(deltas, { maxTokens: 9, thoughts: "none" })).toEqual(["0 tool_use", "0 stop"]);
    expect(blocks([{ reasoning: "Hm" }], { maxTokens: 9, thoughts: "signature" })).toEqual([
      ...["0 thinking", `0 +${Buffer.from("nightshift").toString("base64")}`, "0 stop"],
    ]);
  });
});

test("an input that does not begin as an object is written as one, as in whole messages", () => {
  const piece = (args: string) => ({ toolCalls: [{ index: 0, arguments: args }] });
  const input = (...pieces: string[]) => blocks([{ toolCalls: [CALL] }, ...pieces.map(piece)]).slice(1, -1);
  expect(input(" ", '{"a"', ":1}")).toEqual(['0 + {"a"', "0 +:1}"]);
  expect(input(" [", "1]")).toEqual(['0 +{"_raw":" [1]"}']);
  expect(input('"te')).toEqual(['0 +{"_raw":"\\"te"}']);
});

test("the first event has the counts of the prompt, the last but one all of them", () => {
  const [start, ...rest] = written([{ text: "A" }]);
  expect(start).toMatchObject({
    message: {
      id: "msg_1",
      content: [],
      stop_reason: null,
      usage: { input_tokens: 3, cache_read_input_tokens: 7, output_tokens: 0, service_tier: "priority" },
    },
  });
  const [delta, stop] = rest.slice(-2);
  expect(delta).toMatchObject({
    type: "message_delta",
    delta: { stop_reason: "end_turn", stop_sequence: null },
    usage: {
      input_tokens: 3,
      cache_read_input_tokens: 7,
      output_tokens: 5,
      output_tokens_details: { thinking_tokens: 2 },
    },
  });
  expect(stop).toEqual({ type: "message_stop" });
});

test.each<[Partial<SequenceFinish>, number, string, string | null]>([
  [{}, 9, "end_turn", null],
  [{ stop: "x" }, 9, "stop_sequence", "x"],
  [{ reason: "length" }, 5, "max_tokens", null],
  [{ reason: "length" }, 9, "model_context_window_exceeded", null],
  [{ reason: "tool_calls" }, 9, "tool_use", null],
  [{ reason: "tool_calls", stop: "x" }, 9, "tool_use", null],
])("an end by %j with max_tokens %i is %s", (finish, maxTokens, stop_reason, stop_sequence) => {
  const reported = { maxTokens, thoughts: "none" } as const;
  const events = written([], reported, { ...FINISH, ...finish });
  expect(events.at(-2)).toMatchObject({ delta: { stop_reason, stop_sequence } });
});

test("a failure is the event error with the id of the request", () => {
  const failed = new MessageEvents(IDENTITY, SHOWN, "req_1").failed(new ApiError("engine_died", "It died."));
  const [, data] = /^event: error\ndata: (.+)\n\n$/.exec(failed)!;
  expect(JSON.parse(data!)).toEqual({
    type: "error",
    error: { type: "api_error", message: "It died." },
    request_id: "req_1",
  });
});

test.each<[string, object]>([
  ['{"a": 1}', { a: 1 }],
  ["", {}],
  ['{"a": ', { _raw: '{"a": ' }],
  ["[1]", { _raw: "[1]" }],
])("the input of a call with the arguments %j is an object", (args, input) => {
  const calls = [{ id: "call_1", name: "f", arguments: args }];
  const choice = { text: "\n", reasoning: "Hm", calls, finish: FINISH, logprobs: null, promptLogprobs: [] };
  const { content } = wholeMessage(IDENTITY, [choice], END, SHOWN);
  expect(content).toEqual([
    { type: "thinking", thinking: "Hm", signature: expect.stringMatching(/./) },
    { type: "tool_use", id: "toolu_call_1", name: "f", input, caller: { type: "direct" } },
  ]);
});
