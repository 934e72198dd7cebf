import { Ajv } from "ajv";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { FunctionTool } from "../../../../engine/protocol/prompt.ts";
import { TOOL_FORMAT_NAMES, toolFormat } from "../../../../engine/tools/format-list.ts";
import { Automaton, type State } from "../../../../engine/worker/grammar/automaton.ts";
import { compileGbnf } from "../../../../grammar/gbnf/compile-gbnf.ts";
import { toolRule } from "../../../../server/grammar/tool-grammar.ts";
import { readPieces } from "./reading.ts";

/** An argument of each kind, and names that are not Python identifiers. Only schemas that Gemma's grammar enforces. */
const PARAMETERS = {
  type: "object",
  properties: {
    text: { type: "string" },
    count: { type: "integer" },
    "max-size": { type: "number" },
    exact: { type: "boolean" },
    unit: { enum: ["C", 'a"b', "<x>", 1, true, null] },
    tags: { type: "array", items: { type: "string" } },
    perhaps: { type: ["string", "null"] },
    place: { type: "object", properties: { n: { type: "integer" } }, required: ["n"], additionalProperties: false },
    either: { anyOf: [{ type: "boolean" }, { type: "array", items: { type: "integer" } }] },
    fixed: { const: "it" },
    nothing: { type: "null" },
    any: {},
  },
  required: ["text", "unit"],
  additionalProperties: false,
};
const isValid = new Ajv({ strict: false }).compile(PARAMETERS);
/** Ends of texts, which a random walk over bytes would not find. */
const MARKS = [
  "</arg_value>",
  "\n</parameter>",
  "<escape>",
  '<|"|>',
  "<|end|>",
  "</｜DSML｜parameter>",
  "</parameter>",
  "</param>",
  "]]></param>",
  "<|close|>argument<|sep|>",
  "<|eom|><|start|>assistant",
  "</atem:parameter>",
  "]<]minimax[>[</",
  "]<]minimax[>[",
].map((mark) => Buffer.from(mark));
const ALL_BYTES = Uint8Array.from({ length: 256 }, (_, byte) => byte);
/** Bytes that end something. */
const CLOSING = [...Buffer.from('"}])>,<|\n')];
const MOST_BYTES = 2000;

/** All bytes, each once. The first that the grammar takes is as good a choice as one of all that it takes, and found sooner. */
function bytesInSomeOrder(choices: () => number): Uint8Array {
  const [first, stride] = [Math.floor(choices() * 256), 2 * Math.floor(choices() * 128) + 1];
  return ALL_BYTES.map((index) => first + index * stride);
}

/** A text that the grammar accepts, by a random walk that prefers closing characters; null if it did not reach an end. */
function written(automaton: Automaton, choices: () => number): string | null {
  const bytes: number[] = [];
  let state: State = automaton.start;
  const choose = <T>(among: readonly T[]): T => among[Math.floor(choices() * among.length)]!;
  while (bytes.length < MOST_BYTES && !state.over && !(state.complete && choices() < 0.7)) {
    const mark = MARKS.find((one) => choices() < 0.3 && automaton.walk(state, one) !== null);
    const isOpen = (byte: number) => automaton.step(state, byte) !== null;
    const closing = mark === undefined && choices() < 0.5 ? CLOSING.filter(isOpen) : [];
    const taken = mark ?? Buffer.from([closing.length > 0 ? choose(closing) : bytesInSomeOrder(choices).find(isOpen)!]);
    bytes.push(...taken);
    state = automaton.walk(state, taken)!;
    automaton.pay();
  }
  return state.complete ? Buffer.from(bytes).toString() : null;
}

function mulberry(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

test.each(TOOL_FORMAT_NAMES)("%s: a call that the grammar accepts is read as this call", (format) => {
  for (const name of ["get_weather", "get-weather", "2fa", "function"]) {
    const tool: FunctionTool = { type: "function", function: { name, parameters: PARAMETERS } };
    const choice = { callable: [tool], required: true, restricted: false, parallel: false, answer: null };
    const { gbnf } = toolRule(choice, toolFormat(format))!;
    const automaton = new Automaton(compileGbnf(gbnf));
    const seeds = fc.integer();
    const property = fc.property(seeds, (seed) => {
      const text = written(automaton, mulberry(seed));
      fc.pre(text !== null);
      const { calls, text: said } = readPieces(format, [text!], [tool]);
      expect([calls.map((call) => call.name), said], text!).toEqual([[name], ""]);
      expect(isValid(JSON.parse(calls[0]!.arguments)), text!).toBe(true);
    });
    // Of the random walks, 2 to 50 % reach an end.
    fc.assert(property, { numRuns: 8, maxSkipsPerRun: 1000 });
  }
});
