import { REASONING_EFFORTS } from "../../../protocol/prompt.ts";
import type { ReasoningTags } from "../output/reasoning-tags.ts";
import { EndlessTemplate } from "./bounded-interpreter.ts";
import type { JinjaTemplate } from "./jinja-template.ts";
import type { ThinkingTraits } from "./reasoning-effort.ts";

/** What a chat template understands; found by trying, for templates do not say. */
export interface TemplateTraits {
  /** It shows system messages. False: it refuses or drops them (Gemma, early Mistral). */
  system: boolean;
  developer: boolean;
  /** A tool call's arguments are an object for it (most), or their JSON text (DeepSeek). */
  argumentsAs: "object" | "text";
  /** What it takes for no tools: some walk through the list without asking whether there is one. */
  noTools: null | [];
  /** It shows the tools that it is given. */
  tools: boolean;
  /** It fails on a tool's argument that has no description. */
  describedArguments: boolean;
  /** It shows tool calls and their results. */
  calls: boolean;
  /** What it takes for the content of a message that has calls and no text. */
  noContent: null | "";
  /** It refuses ids of calls that are not nine letters or digits long. */
  shortCallIds: boolean;
  /** A message may have more than one call. */
  parallelCalls: boolean;
  /** The field of an earlier answer in which it looks for the thoughts before it; null: it shows none (most). */
  thoughtsAs: "reasoning_content" | "thinking" | null;
  thinking: ThinkingTraits;
}

const REASONING_TAGS: ReasoningTags[] = [
  { open: "<think>", close: "</think>" },
  { open: "[THINK]", close: "[/THINK]" },
  { open: "<seed:think>", close: "</seed:think>" },
  { open: "◁think▷", close: "◁/think▷" },
  { open: "<|channel>thought", close: "<channel|>", openToken: "<|channel>" },
];

const QUESTION = { role: "user", content: "zebra-question" };
/** With and without what clients may leave out. */
const DESCRIBED_TOOL = tool({ type: "string", description: "where" });
const BARE_TOOL = tool({ type: "string" });
const EPOCH = new Date(0);
/** Steps of one trial. Of llama.cpp's 70 templates none takes more than 1,500 for a question with a tool. */
const TRIAL_STEPS = 50_000;
/** Mistral's templates refuse an id that is not nine letters or digits long. */
const SHORT_ID = "call00001";

function tool(city: Record<string, string>) {
  const parameters = { type: "object", properties: { city }, required: ["city"] };
  return { type: "function", function: { name: "zebra_tool", description: "stripes", parameters } };
}

/**
 * What it makes of these, with a turn of the assistant begun; null where it fails. Throws an EndlessTemplate: it would fail, or
 * take as long, with what clients send.
 */
function tried(template: JinjaTemplate, variables: Record<string, unknown>): string | null {
  const common = { bos_token: "", eos_token: "", documents: null, add_generation_prompt: true };
  try {
    return template.render({ ...common, ...variables }, EPOCH, TRIAL_STEPS);
  } catch (error) {
    if (error instanceof EndlessTemplate) throw error;
    return null;
  }
}

/** Throws an EndlessTemplate where a few short messages take it too many steps. */
export function templateTraits(template: JinjaTemplate): TemplateTraits {
  const takes = (tools: null | []) => tried(template, { messages: [QUESTION], tools }) !== null;
  const noTools: null | [] = takes(null) || !takes([]) ? null : [];
  const shows = (messages: unknown[], words: string[], tools: unknown[] | null = noTools): boolean => {
    const rendered = tried(template, { messages, tools });
    return rendered !== null && words.every((word) => rendered.includes(word));
  };
  const forms = ([null, ""] as const).flatMap((noContent) =>
    (["object", "text"] as const).map((argumentsAs) => ({ noContent, argumentsAs })),
  );
  const called = ({ noContent, argumentsAs }: (typeof forms)[number], ...ids: string[]): unknown[] => {
    const calls = ids.map((id) => {
      const args = { zebra: `stripe-${id}` };
      const written = argumentsAs === "object" ? args : JSON.stringify(args);
      return { id, type: "function", function: { name: "weather", arguments: written } };
    });
    const results = ids.map((id) => ({ role: "tool", content: `rain-${id}`, name: "weather", tool_call_id: id }));
    return [QUESTION, { role: "assistant", content: noContent, tool_calls: calls }, ...results];
  };
  // By its arguments: some templates show the first call of a message and drop the others without a word.
  const words = (...ids: string[]) => ["zebra", ...ids.flatMap((id) => [`stripe-${id}`, `rain-${id}`])];
  const form = forms.find((one) => shows(called(one, SHORT_ID), words(SHORT_ID)));
  const [second, long] = ["call00002", "call_0123456789abcdef"];
  const bare = shows([QUESTION], ["zebra_tool"], [BARE_TOOL]);
  const described = bare || shows([QUESTION], ["zebra_tool"], [DESCRIBED_TOOL]);
  return {
    system: shows([{ role: "system", content: "zebra-rule" }, QUESTION], ["zebra-rule"]) || !shows([QUESTION], []),
    developer: template.source.includes("developer"),
    noTools,
    tools: described,
    describedArguments: described && !bare,
    calls: form !== undefined,
    argumentsAs: form?.argumentsAs ?? "object",
    noContent: form?.noContent ?? null,
    shortCallIds: form !== undefined && !shows(called(form, long), [`stripe-${long}`]),
    parallelCalls: form === undefined || shows(called(form, SHORT_ID, second), words(SHORT_ID, second)),
    thoughtsAs: shownThoughts(template.source),
    thinking: thinkingTraits(template, noTools),
  };
}

/** Read and not tried: most templates that show thoughts show them in some turns alone. */
function shownThoughts(source: string): TemplateTraits["thoughtsAs"] {
  if (source.includes("reasoning_content")) return "reasoning_content";
  return /\.thinking\b|\[['"]thinking['"]\]/.test(source) ? "thinking" : null;
}

/** Levels that models are trained on, whether or not their template names them. */
const USUAL_LEVELS: readonly string[] = ["low", "medium", "high"];

function thinkingTraits(template: JinjaTemplate, tools: unknown[] | null): ThinkingTraits {
  const rendered = (variables: Record<string, unknown>) =>
    tried(template, { messages: [QUESTION], tools, ...variables });
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
