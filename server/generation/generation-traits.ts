import type { Asked } from "../../engine/engine.ts";
import { promptSize } from "../admission/token-estimate.ts";
import type { RequestTraits } from "../routing/request-traits.ts";
import type { GenerationRequest } from "./request.ts";

/** Characters of a text that patterns are looked for in: a pattern may be slow. */
const MOST_TEXT = 4096;
/** Tokens above which prompts are not told apart. */
const MOST_TOKENS = 4_000_000;

/** The properties of a request that generates. */
export function generationTraits({
  submissions,
  toolChoice,
}: Pick<GenerationRequest, "submissions" | "toolChoice">): RequestTraits {
  const sizes = submissions.map(({ prompt }) => promptSize(prompt, MOST_TOKENS).usual);
  const [first] = submissions;
  return {
    promptTokens: sizes.reduce((sum, size) => sum + size, 0),
    maxTokens: first?.maxTokens ?? null,
    tools: toolChoice !== null,
    form: submissions.some(({ grammar }) => grammar !== null),
    text: first === undefined ? "" : textOf(first).slice(0, MOST_TEXT),
  };
}

function textOf({ prompt }: Asked): string {
  switch (prompt.kind) {
    case "chat":
      return prompt.messages.findLast(({ role }) => role === "user")?.content ?? "";
    case "text":
      return prompt.text;
    case "infill":
      return prompt.prefix;
    case "tokens":
      return "";
  }
}
