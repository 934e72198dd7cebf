import fc from "fast-check";
import { expect } from "vitest";
import type { FunctionTool } from "../../../../engine/protocol/prompt.ts";
import { toolFormat } from "../../../../engine/tools/format-list.ts";
import { ToolParser } from "../../../../engine/tools/parser.ts";
import type { ToolEvent } from "../../../../engine/tools/syntax/output.ts";

export const WEATHER = tool("get_weather", {
  city: { type: "string" },
  days: { type: "integer" },
  exact: { type: "boolean" },
  tags: { type: "array", items: { type: "string" } },
});
export const TIME = tool("get_time", { zone: { type: "string" } });
export const TOOLS = [WEATHER, TIME];

function tool(name: string, properties: Record<string, unknown>): FunctionTool {
  return { type: "function", function: { name, parameters: { type: "object", properties, required: [] } } };
}

export interface ReadCall {
  name: string;
  id?: string;
  arguments: string;
}

export interface Answer {
  text: string;
  thought: string;
  calls: ReadCall[];
  ended: boolean;
}

/** The result of parsing an answer that arrives in these pieces. */
export function readPieces(format: string, pieces: readonly string[], tools: readonly FunctionTool[] = TOOLS): Answer {
  const parser = new ToolParser(toolFormat(format), tools);
  const events = [...pieces.flatMap((piece) => parser.push(piece)), ...parser.finish()];
  return joined(events);
}

function joined(events: readonly ToolEvent[]): Answer {
  const answer: Answer = { text: "", thought: "", calls: [], ended: false };
  for (const event of events) {
    if (event.kind === "text") answer.text += event.text;
    else if (event.kind === "thought") answer.thought += event.text;
    else if (event.kind === "end") answer.ended = true;
    else if (event.kind === "arguments") answer.calls.at(-1)!.arguments += event.text;
    else answer.calls.push({ name: event.name, ...(event.id !== null && { id: event.id }), arguments: "" });
  }
  return answer;
}

/** Reads an answer as a whole, by character and in pieces of any lengths, and expects equal results. */
export function read(format: string, text: string, tools: readonly FunctionTool[] = TOOLS): Answer {
  const whole = readPieces(format, [text], tools);
  expect(readPieces(format, text.split(""), tools)).toEqual(whole);
  const lengths = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: text.length, maxLength: text.length });
  fc.assert(
    fc.property(lengths, (sizes) => {
      expect(readPieces(format, cut(text, sizes), tools)).toEqual(whole);
    }),
    { numRuns: 40 },
  );
  return whole;
}

function cut(text: string, sizes: readonly number[]): string[] {
  const pieces: string[] = [];
  let at = 0;
  for (const size of sizes) {
    if (at >= text.length) break;
    pieces.push(text.slice(at, at + size));
    at += size;
  }
  return pieces;
}

/** An answer with calls only. */
export function calls(...made: ReadCall[]): Answer {
  return { text: "", thought: "", calls: made, ended: false };
}

export function text(said: string): Answer {
  return { text: said, thought: "", calls: [], ended: false };
}
