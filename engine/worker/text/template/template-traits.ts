import { REASONING_EFFORTS } from "../../../protocol/prompt.ts";
import { PROBE_CALL } from "../../../tools/format-list.ts";
import type { ReasoningTags } from "../output/reasoning-tags.ts";
import type { JinjaTemplate } from "./jinja-template.ts";
import type { ThinkingTraits } from "./reasoning-effort.ts";
import { TemplateTrial } from "./template-trial.ts";
import { thoughtParts } from "./thought-parts.ts";
import type { ToolFields } from "./tool-prompt.ts";

/** The abilities of a chat template, found by rendering examples: templates do not declare them. */
export interface TemplateTraits {
  /** False: it refuses or drops system messages (Gemma, early Mistral). */
  system: boolean;
  /** True when it renders a system message behind a question too. */
  laterSystem: boolean;
  developer: boolean;
  /** True when it renders tools, as JSON text, from a variable `functions`. */
  functions: boolean;
  /** The error with which it fails on every tool; null where it renders tools, takes none, or refuses them. */
  toolsError: string | null;
  /** The same for calls and their results. */
  callsError: string | null;
  /** Examples on which it fails with an error of the interpreter, with its message and the consequence. */
  faults: readonly string[];
  /** Answers with a call of `PROBE_CALL`, as it writes them into the history, with text behind. */
  writtenCalls: readonly string[];
  /** The form of a tool call's arguments: an object (most), or their JSON text (DeepSeek). */
  argumentsAs: "object" | "text";
  /** Its value for no tools: some templates iterate over the list without a check. */
  noTools: null | [];
  /** True when it renders tools. */
  tools: boolean;
  /** The fields without which it fails. */
  toolFields: ToolFields;
  /** True when it renders tool calls and their results. */
  calls: boolean;
  /** Its value for the content of a message that has calls and no text. */
  noContent: null | "";
  /** True when it takes results as `tool_responses` of the message with their calls, and has no role for them (Gemma 4). */
  toolResponses: boolean;
  /** True when it renders the text of a message with calls behind their results (Gemma 4). */
  textBehindCalls: boolean;
  /** True when it refuses ids of calls that are not nine letters or digits long. */
  shortCallIds: boolean;
  /** True when it renders all calls of a message. */
  parallelCalls: boolean;
  /** The field with the reasoning of an earlier answer, or parts of its content (Mistral); null: it renders none (most). */
  thoughtsAs: "reasoning_content" | "thinking" | "parts" | null;
  thinking: ThinkingTraits;
  /** Beginnings of an answer that it writes into the prompt and not into the history, by the values of its switches. */
  openings: readonly string[];
}

const REASONING_TAGS: ReasoningTags[] = [
  { open: "<think>", close: "</think>" },
  { open: "<|START_THINKING|>", close: "<|END_THINKING|>" },
  { open: "[THINK]", close: "[/THINK]" },
  { open: "<seed:think>", close: "</seed:think>" },
  { open: "◁think▷", close: "◁/think▷" },
  { open: "<mm:think>", close: "</mm:think>" },
  { open: "<|inner_prefix|>", close: "<|inner_suffix|>" },
  { open: "Here are my reasoning steps:", close: "[BEGIN FINAL RESPONSE]" },
  { open: "<|channel>thought", close: "<channel|>", openToken: "<|channel>" },
];

const QUESTION = { role: "user", content: "zebra-question" };
/** With and without the description that clients may leave out. */
const DESCRIBED_TOOL = tool({ type: "string", description: "where" });
const BARE_TOOL = tool({ type: "string" });
/** Mistral's templates refuse an id that is not nine letters or digits long. */
const SHORT_ID = "call00001";
const SYSTEM = { role: "system", content: "zebra-rule" };
const LATER_SYSTEM = { role: "system", content: "zebra-later-rule" };
const DEVELOPER = { role: "developer", content: "zebra-developer" };
const THOUGHT = "zebra-thought";
const SAID = "zebra-said";
const UNKNOWN_ROLE = "zebra-role";
/** Kimi K2 writes an id for the name of a call. */
const KIMI_ID = `functions.${PROBE_CALL.name}:0`;

function tool(city: Record<string, string>) {
  return toolOf({ type: "object", properties: { city }, required: ["city"] });
}

function toolOf(parameters: Record<string, unknown>) {
  return { type: "function", function: { name: "zebra_tool", description: "stripes", parameters } };
}

/** @throws EndlessTemplate where a few short messages take too many steps */
export function templateTraits(template: JinjaTemplate): TemplateTraits {
  const trial = new TemplateTrial(template, QUESTION);
  const takes = (tools: null | []) => trial.rendered({ messages: [QUESTION], tools }) !== null;
  const noTools: null | [] = takes(null) || !takes([]) ? null : [];
  const shows = (messages: unknown[], words: string[], tools: unknown[] | null = noTools): boolean => {
    const rendered = trial.rendered({ messages, tools });
    return rendered !== null && words.every((word) => rendered.includes(word));
  };
  // A template prints none as "None".
  const forms = (["", null] as const).flatMap((noContent) =>
    (["object", "text"] as const).map((argumentsAs) => ({ noContent, argumentsAs })),
  );
  const probed = ({ noContent, argumentsAs }: (typeof forms)[number], id: string): unknown[] => {
    const { name, arguments: args } = PROBE_CALL;
    const written = argumentsAs === "object" ? args : JSON.stringify(args);
    const call = { id, type: "function", function: { name, arguments: written } };
    const result = { role: "tool", content: "rain", name, tool_call_id: id };
    return [QUESTION, { role: "assistant", content: noContent, tool_calls: [call] }, result];
  };
  const called = ({ noContent, argumentsAs }: (typeof forms)[number], ...ids: string[]): unknown[] => {
    const calls = ids.map((id) => {
      const args = { zebra: `stripe-${id}` };
      const written = argumentsAs === "object" ? args : JSON.stringify(args);
      return { id, type: "function", function: { name: "weather", arguments: written } };
    });
    const results = ids.map((id) => ({ role: "tool", content: `rain-${id}`, name: "weather", tool_call_id: id }));
    return [QUESTION, { role: "assistant", content: noContent, tool_calls: calls }, ...results];
  };
  // Calls are found by their arguments: some templates render the first call of a message and drop the others silently.
  const words = (...ids: string[]) => ["zebra", ...ids.flatMap((id) => [`stripe-${id}`, `rain-${id}`])];
  const form = forms.find((one) => shows(called(one, SHORT_ID), words(SHORT_ID)));
  const [second, long] = ["call00002", "call_0123456789abcdef"];
  const bare = shows([QUESTION], ["zebra_tool"], [BARE_TOOL]);
  const named = [{}, { type: "object" }].every((schema) => shows([QUESTION], ["zebra_tool"], [toolOf(schema)]));
  const described = bare || shows([QUESTION], ["zebra_tool"], [DESCRIBED_TOOL]);
  const callErrors = forms.map((one) => trial.error({ messages: called(one, SHORT_ID), tools: noTools }));
  const callsError = form === undefined && !callErrors.includes(null) ? (callErrors[0] ?? null) : null;
  const failing = (consequence: string, messages: unknown[]) => {
    const error = trial.error({ messages, tools: noTools });
    return error === null ? [] : [`${consequence} (${error})`];
  };
  const faults = failing("a question, so that chats are refused", [QUESTION]);
  // A template may ask for a system message; one that refuses a question with it as well takes no chats.
  const refusals = [[QUESTION], [SYSTEM, QUESTION]].map((messages) => trial.refusal({ messages, tools: noTools }));
  if (!refusals.includes(null)) faults.push(`a question, so that chats are refused (${refusals[0]})`);
  if (faults.length === 0) {
    faults.push(...failing("a system message, which is given as a part of the question", [SYSTEM, QUESTION]));
    if (form !== undefined) {
      const consequence = "two calls in a message, so that each has a message of its own";
      faults.push(...failing(consequence, called(form, SHORT_ID, second)));
    } else if (callsError === null) {
      const consequence = "a tool call and its result, which are given as text";
      const errors = forms.map((one) => failing(consequence, called(one, SHORT_ID)));
      // Content null fails in many templates without calls.
      faults.push(
        ...errors
          .filter((_, index) => forms[index]!.noContent === "")
          .flat()
          .slice(0, 1),
      );
    }
  }
  const thinking = thinkingTraits(trial, noTools);
  const toolResponses = form !== undefined && takesResponses(called(form, SHORT_ID), trial, noTools);
  const ids = form === undefined ? [] : [SHORT_ID, KIMI_ID];
  const writtenCalls = ids.flatMap((id) => {
    const prompt = trial.rendered({ messages: [QUESTION], tools: noTools });
    const history = trial.rendered({ messages: probed(form!, id), tools: noTools });
    return prompt === null || history === null ? [] : answersIn(history, prompt);
  });
  return {
    system: shows([SYSTEM, QUESTION], [SYSTEM.content]) || !shows([QUESTION], []),
    laterSystem: shows(
      [SYSTEM, QUESTION, LATER_SYSTEM],
      [SYSTEM, QUESTION, LATER_SYSTEM].map(({ content }) => content),
    ),
    developer: template.source.includes("developer") && shows([DEVELOPER, QUESTION], [DEVELOPER.content]),
    noTools,
    tools: described,
    functions: trial.functions,
    toolsError: described ? null : trial.error({ messages: [QUESTION], tools: [DESCRIBED_TOOL] }),
    callsError,
    faults,
    toolFields: { schemas: !named, descriptions: described && !bare },
    calls: form !== undefined,
    writtenCalls,
    argumentsAs: form?.argumentsAs ?? "object",
    noContent: form?.noContent ?? null,
    toolResponses,
    textBehindCalls: form !== undefined && writesTextLast(called(form, SHORT_ID), toolResponses, trial, noTools),
    shortCallIds: form !== undefined && !shows(called(form, long), [`stripe-${long}`]),
    parallelCalls: form === undefined || shows(called(form, SHORT_ID, second), words(SHORT_ID, second)),
    thoughtsAs: shownThoughts(template.source, takesThoughtParts(trial, noTools)),
    thinking,
    openings: openingsOf(trial, noTools, thinking),
  };
}

/** Whether a template writes a result as it does a message of any unknown role, but knows results beside their calls. */
function takesResponses(messages: readonly unknown[], trial: TemplateTrial, tools: null | []): boolean {
  const [question, call, result] = messages as { role: string; content: string }[];
  const rendered = (...list: unknown[]) => trial.rendered({ messages: list, tools });
  const unknown = rendered(question, call, { ...result, role: UNKNOWN_ROLE });
  if (unknown === null || unknown.replaceAll(UNKNOWN_ROLE, "tool") !== rendered(question, call, result)) return false;
  const responses = [{ name: "weather", response: result!.content }];
  return rendered(question, { ...call, tool_responses: responses })?.includes(result!.content) ?? false;
}

function writesTextLast(
  messages: readonly unknown[],
  beside: boolean,
  trial: TemplateTrial,
  tools: null | [],
): boolean {
  const [question, call, result] = messages as { content: string }[];
  const said = { ...call, content: SAID };
  const responses = [{ name: "weather", response: result!.content }];
  const list = beside ? [question, { ...said, tool_responses: responses }] : [question, said, result];
  const rendered = trial.rendered({ messages: list, tools }) ?? "";
  return rendered.includes(SAID) && rendered.indexOf(SAID) > rendered.indexOf(result!.content);
}

/**
 * The history from the place on at which an answer begins: where it differs from the prompt, or at the beginning of that
 * word or mark, since the prompt may begin another mark there.
 */
function answersIn(history: string, prompt: string): string[] {
  let at = 0;
  while (at < prompt.length && prompt[at] === history[at]) at++;
  let begin = at;
  while (begin > 0 && !/[\s>\]]/.test(history[begin - 1]!)) begin--;
  return [...new Set([begin, at])].map((from) => history.slice(from));
}

/** By its source and not by a trial: most templates that render reasoning do so in some turns alone. */
function shownThoughts(source: string, takesParts: boolean): TemplateTraits["thoughtsAs"] {
  if (source.includes("reasoning_content")) return "reasoning_content";
  if (takesParts) return "parts";
  return /\.thinking\b|\[['"]thinking['"]\]/.test(source) ? "thinking" : null;
}

/** Whether a template renders parts of a content, and not the list of them as any value. */
function takesThoughtParts(trial: TemplateTrial, tools: null | []): boolean {
  const messages = [QUESTION, { role: "assistant", content: thoughtParts(THOUGHT, SAID) }, QUESTION];
  const rendered = trial.rendered({ messages, tools }) ?? "";
  return rendered.includes(THOUGHT) && rendered.includes(SAID) && !/["']type["']/.test(rendered);
}

/** Levels that models are trained on, even where their template does not name them. */
const USUAL_LEVELS: readonly string[] = ["low", "medium", "high"];

function thinkingTraits(trial: TemplateTrial, tools: unknown[] | null): ThinkingTraits {
  const rendered = (variables: Record<string, unknown>) =>
    trial.rendered({ messages: [QUESTION], tools, ...variables });
  const heeds = (name: string, one: unknown, other: unknown) =>
    rendered({ [name]: one }) !== rendered({ [name]: other });
  const quotes = (word: string) =>
    trial.template.source.includes(`"${word}"`) || trial.template.source.includes(`'${word}'`);
  const levels = REASONING_EFFORTS.filter((effort) => USUAL_LEVELS.includes(effort) || quotes(effort));
  return {
    switches: ["enable_thinking", "thinking"].filter((name) => heeds(name, true, false)),
    levels: heeds("reasoning_effort", "low", "high")
      ? levels.filter((effort) => rendered({ reasoning_effort: effort }) !== null)
      : [],
    budget: heeds("thinking_budget", 512, 4096),
  };
}

function openingsOf(trial: TemplateTrial, tools: null | [], { switches }: ThinkingTraits): string[] {
  const settings = [{}, ...switches.flatMap((name) => [true, false].map((value) => ({ [name]: value })))];
  return settings.flatMap((variables) => {
    const asked = { messages: [QUESTION], tools, ...variables };
    const turn = trial.rendered({ ...asked, add_generation_prompt: false });
    const prompt = trial.rendered(asked);
    if (turn === null || !prompt?.startsWith(turn)) return [];
    const history = trial.rendered({ ...asked, messages: [QUESTION, { role: "assistant", content: SAID }, QUESTION] });
    return history?.startsWith(prompt) ? [] : [prompt.slice(turn.length)];
  });
}

/** The tags around a model's reasoning: those that its template names, else those that its vocabulary has as tokens. */
export function reasoningTags(source: string, hasToken: (text: string) => boolean): ReasoningTags | null {
  const named = REASONING_TAGS.find(({ open, close }) => source.includes(open) || source.includes(close));
  return named ?? REASONING_TAGS.find(({ open, close }) => hasToken(open) && hasToken(close)) ?? null;
}
