import fc from "fast-check";
import type { SequenceFinish, SequenceOutput, ToolCallDelta } from "../../../../engine/protocol/output.ts";
import { ApiError } from "../../../../openapi/api-error.ts";
import { customArguments } from "../../../../server/dialects/responses/output/custom-input.ts";
import type { FakeRequest } from "../fake-engine.ts";

/** A part of what a model writes, in the order in which it does. */
type Part =
  | { kind: "thought"; text: string }
  | { kind: "text"; text: string }
  | { kind: "call"; name: string; args: string };

/** The answer of an engine, as the outputs of its steps. */
export interface EngineAnswer {
  /** True where reasoning, text and calls follow one another in this order, as whole answers have them. */
  ordered: boolean;
  steps: Step[];
  reason: "stop" | "length";
  stop: string | null;
  /** The step in place of which the engine fails, modulo their number; null where it does not. */
  failsAt: number | null;
}

type Step = Pick<SequenceOutput, "text" | "reasoning"> & { toolCalls: ToolCallDelta[] };

/** A function, and a custom tool of the Responses API. */
export const FUNCTION = "time";
export const CUSTOM = "patch";

const anyText = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.string({ unit: "binary" }),
  fc.constantFrom("\n\n", " ", "\r\n", "data: [DONE]\n\n", "event: x\n", "\u2028", '"', "\\", "\0", "😀é"),
);
const anyArguments = fc.oneof(
  fc.json(),
  fc.constantFrom("{}", "", '{"a":', "null"),
  anyText.map(customArguments),
  // Arguments of a custom tool that are cut at any place.
  fc.tuple(anyText, fc.nat(20)).map(([text, length]) => customArguments(text).slice(0, length)),
);
const anyPart: fc.Arbitrary<Part> = fc.oneof(
  fc.record({ kind: fc.constant("thought"), text: anyText }),
  fc.record({ kind: fc.constant("text"), text: anyText }),
  fc.record({ kind: fc.constant("call"), name: fc.constantFrom(FUNCTION, CUSTOM), args: anyArguments }),
);
/** Counts that are taken in turn. */
const anySizes = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 5 });

const ORDER: Part["kind"][] = ["thought", "text", "call"];

export const anyEngineAnswer: fc.Arbitrary<EngineAnswer> = fc
  .record({
    ordered: fc.boolean(),
    parts: fc.array(anyPart, { maxLength: 7 }),
    pieces: anySizes,
    perStep: anySizes,
    reason: fc.constantFrom("stop", "length"),
    stop: fc.option(fc.constant("END")),
    failsAt: fc.option(fc.nat(20), { freq: 3 }),
  })
  .map(({ ordered, parts, pieces, perStep, reason, stop, failsAt }) => {
    const sorted = [...parts].sort((a, b) => (ordered ? ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind) : 0));
    const bits = cut(bitsOf(sorted, pieces), perStep);
    return { ordered, steps: bits.map(merged), reason, stop: reason === "stop" ? stop : null, failsAt };
  });

/** Elements in groups of these sizes, taken in turn. */
function cut<T>(all: readonly T[], sizes: readonly number[]): T[][] {
  const groups: T[][] = [];
  for (let at = 0; at < all.length; at += groups.at(-1)!.length) {
    groups.push(all.slice(at, at + sizes[groups.length % sizes.length]!));
  }
  return groups;
}

/** Outputs of single tokens: a call's first piece has its id and name. */
function bitsOf(parts: readonly Part[], pieces: readonly number[]): Step[] {
  let calls = 0;
  return parts.flatMap((part): Step[] => {
    const texts = (text: string) => cut([...text], pieces).map((characters) => characters.join(""));
    if (part.kind === "thought") return texts(part.text).map((reasoning) => ({ text: "", reasoning, toolCalls: [] }));
    if (part.kind === "text") return texts(part.text).map((text) => ({ text, reasoning: "", toolCalls: [] }));
    const index = calls++;
    const begun = { index, id: `call_${index}`, name: part.name, arguments: "" };
    const rest = texts(part.args).map((args) => ({ index, arguments: args }));
    return [begun, ...rest].map((call) => ({ text: "", reasoning: "", toolCalls: [call] }));
  });
}

/** The output of one step for several tokens, in which the order of different parts is lost. */
function merged(bits: readonly Step[]): Step {
  return {
    text: bits.map(({ text }) => text).join(""),
    reasoning: bits.map(({ reasoning }) => reasoning).join(""),
    toolCalls: bits.flatMap(({ toolCalls }) => toolCalls),
  };
}

/** Answers a request of any number of sequences; with `failing` false also where the answer would fail. */
export function play(request: FakeRequest, answer: EngineAnswer, failing: boolean): void {
  const { n, logprobs } = request.submission;
  const steps = answer.steps.length === 0 ? [{ text: "", reasoning: "", toolCalls: [] }] : answer.steps;
  request.begin(7, 2);
  for (const [at, step] of steps.entries()) {
    if (failing && answer.failsAt !== null && at === answer.failsAt % steps.length) {
      request.fail(new ApiError("engine_died", "The engine died."));
      return;
    }
    const finish = at === steps.length - 1 ? finishOf(answer, steps) : null;
    for (let index = 0; index < n; index++)
      request.say(step.text, { ...outputOf(step, logprobs !== null), index, finish });
  }
}

function outputOf({ text, reasoning, toolCalls }: Step, scored: boolean): Partial<SequenceOutput> {
  const logprob = {
    bytes: Buffer.from(text),
    logprob: -1,
    top: [{ bytes: Buffer.from("é").subarray(1), logprob: -2 }],
  };
  return {
    reasoning,
    ...(toolCalls.length > 0 && { toolCalls }),
    ...(scored && { logprobs: text === "" ? [] : [logprob] }),
  };
}

function finishOf({ reason, stop }: EngineAnswer, steps: readonly Step[]): SequenceFinish {
  const called = steps.some(({ toolCalls }) => toolCalls.length > 0);
  const reasoningTokens = steps.filter(({ reasoning }) => reasoning !== "").length;
  return {
    reason: reason === "stop" && called ? "tool_calls" : reason,
    stop,
    completionTokens: steps.length,
    reasoningTokens,
  };
}
