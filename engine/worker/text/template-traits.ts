import { REASONING_EFFORTS } from "../../protocol.ts";
import type { JinjaTemplate } from "./jinja-template.ts";
import type { ReasoningTags } from "./reasoning.ts";
import type { ThinkingTraits } from "./thinking.ts";

/** What a chat template understands; found by trying, for templates do not say. */
export interface TemplateTraits {
  /** It shows system messages. False: it refuses or drops them (Gemma, early Mistral). */
  system: boolean;
  developer: boolean;
  /** A tool call's arguments are an object for it (most), or their JSON text (DeepSeek). */
  argumentsAs: "object" | "text";
  /** The field of an earlier answer in which it looks for the thoughts before it; null: it shows none (most). */
  thoughtsAs: "reasoning_content" | "thinking" | null;
  thinking: ThinkingTraits;
}

const REASONING_TAGS: ReasoningTags[] = [
  { open: "<think>", close: "</think>" },
  { open: "[THINK]", close: "[/THINK]" },
  { open: "<seed:think>", close: "</seed:think>" },
  { open: "◁think▷", close: "◁/think▷" },
];

const QUESTION = { role: "user", content: "zebra-question" };
const EPOCH = new Date(0);

export function templateTraits(template: JinjaTemplate): TemplateTraits {
  const shows = (messages: unknown[], ...words: string[]): boolean => {
    try {
      const variables = { messages, bos_token: "", eos_token: "", tools: null, documents: null };
      const rendered = template.render({ ...variables, add_generation_prompt: true }, EPOCH);
      return words.every((word) => rendered.includes(word));
    } catch {
      return false;
    }
  };
  const called = (args: unknown): unknown[] => {
    // Mistral's templates refuse an id that is not nine letters or digits long.
    const call = { id: "call00001", type: "function", function: { name: "weather", arguments: args } };
    return [
      QUESTION,
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", content: "rain", name: "weather", tool_call_id: call.id },
    ];
  };
  return {
    system: shows([{ role: "system", content: "zebra-rule" }, QUESTION], "zebra-rule") || !shows([QUESTION]),
    developer: template.source.includes("developer"),
    argumentsAs:
      !shows(called({ zebra: "stripe" }), "zebra", "stripe") && shows(called('{"zebra": "stripe"}'), "zebra", "stripe")
        ? "text"
        : "object",
    thoughtsAs: shownThoughts(template.source),
    thinking: thinkingTraits(template),
  };
}

/** Read and not tried: most templates that show thoughts show them in some turns alone. */
function shownThoughts(source: string): TemplateTraits["thoughtsAs"] {
  if (source.includes("reasoning_content")) return "reasoning_content";
  return /\.thinking\b|\[['"]thinking['"]\]/.test(source) ? "thinking" : null;
}

/** Levels that models are trained on, whether or not their template names them. */
const USUAL_LEVELS: readonly string[] = ["low", "medium", "high"];

function thinkingTraits(template: JinjaTemplate): ThinkingTraits {
  const rendered = (variables: Record<string, unknown>): string | null => {
    try {
      const common = { messages: [QUESTION], bos_token: "", eos_token: "", tools: null, documents: null };
      return template.render({ ...common, add_generation_prompt: true, ...variables }, EPOCH);
    } catch {
      return null;
    }
  };
  const heeds = (name: string, one: unknown, other: unknown) =>
    rendered({ [name]: one }) !== rendered({ [name]: other });
  const quotes = (word: string) => template.source.includes(`"${word}"`) || template.source.includes(`'${word}'`);
  const levels = REASONING_EFFORTS.filter((effort) => USUAL_LEVELS.includes(effort) || quotes(effort));
  return {
    switches: ["enable_thinking", "thinking"].filter((name) => heeds(name, true, false)),
    levels: heeds("reasoning_effort", "low", "high")
      ? levels.filter((effort) => rendered({ reasoning_effort: effort }) !== null)
      : [],
    budget: heeds("thinking_budget", 512, 4096),
  };
}

/** The tags around a model's thoughts: those its template names, else those its vocabulary has as tokens. */
export function reasoningTags(source: string, hasToken: (text: string) => boolean): ReasoningTags | null {
  const named = REASONING_TAGS.find(({ open, close }) => source.includes(open) || source.includes(close));
  return named ?? REASONING_TAGS.find(({ open, close }) => hasToken(open) && hasToken(close)) ?? null;
}
