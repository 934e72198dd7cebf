import type { TextDelta } from "./stream-format.ts";

/** The parts of one output. The rest of a call that an earlier one began comes before text, which would end the call. */
export function inOrder(output: TextDelta): TextDelta[] {
  const { text, reasoning, toolCalls = [] } = output;
  if (toolCalls.length === 0 || (text === "" && reasoning === "")) return [output];
  const next = toolCalls.findIndex(({ id }) => id !== undefined);
  const rest = next === -1 ? toolCalls : toolCalls.slice(0, next);
  if (rest.length === 0) return [output];
  return [
    { text: "", reasoning: "", toolCalls: rest },
    { ...output, toolCalls: toolCalls.slice(rest.length) },
  ];
}
