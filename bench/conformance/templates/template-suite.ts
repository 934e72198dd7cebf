import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { ChatTemplate } from "../../../engine/worker/text/template/chat-template.ts";
import { JinjaTemplate, TemplateRefusal } from "../../../engine/worker/text/template/jinja-template.ts";
import { templateDates } from "../../../engine/worker/text/template/template-dates.ts";
import { CONVERSATIONS, type Conversation } from "./conversations.ts";
import { type OracleJob, type Rendering, renderByJinja2 } from "./jinja-oracle.ts";
import { type LlamaPrompts, type LlamaServer, llamaPrompts } from "./llama-prompts.ts";

/** Texts of the tokens that begin and end a text, where no llama-server has others. */
const TOKENS = { bos: "<s>", eos: "</s>" };
const CONTEXT_CHARACTERS = 40;

/** A rendering that differs from a reference. */
export interface TemplateDifference {
  template: string;
  conversation: string;
  /** The text from shortly before the first difference, or the reason of a failure. */
  here: string;
  there: string;
}

/** The counts of one template. */
export interface TemplateCounts {
  template: string;
  conversations: number;
  /** Conversations as sent that Jinja2 renders, those of them that the interpreter renders equally, and those that only it renders. */
  rendered: number;
  equal: number;
  onlyHere: number;
  /** Prompts, and those of them that Jinja2 makes of the messages as sent, of the adapted ones, and llama-server makes. */
  prompts: number;
  asSent: number;
  adapted: number;
  llama: number;
}

export interface TemplateSuite {
  counts: TemplateCounts[];
  /** The interpreter's renderings of messages as sent that differ from Jinja2's. */
  interpreter: TemplateDifference[];
  /** Prompts that Jinja2 makes of neither the messages as sent nor the adapted ones. */
  prompts: TemplateDifference[];
  /** Prompts that neither Jinja2 makes of the messages as sent nor llama-server makes; null without a llama-server. */
  choices: TemplateDifference[] | null;
}

export const TEMPLATE_HEAD = [
  ...["template", "conversations", "rendered", "equal", "only here"],
  ...["prompts", "as sent", "adapted", "llama-server"],
];

export function templateRows({ counts, choices }: TemplateSuite): string[][] {
  const total = { ...emptyCounts("all"), conversations: 0 };
  for (const one of counts) {
    for (const key of NUMBERS) total[key] += one[key];
  }
  return [...counts, total].map((one) => {
    const numbers = NUMBERS.map((key) => (key === "llama" && choices === null ? "–" : String(one[key])));
    return [one.template, ...numbers];
  });
}

const NUMBERS = [
  ...(["conversations", "rendered", "equal", "onlyHere"] as const),
  ...(["prompts", "asSent", "adapted", "llama"] as const),
];

/**
 * Renders every template of a folder with every conversation, and compares with Jinja2, and with llama-server if one is
 * given. Null without Jinja2.
 *
 * @param directory has files that end in `.jinja`
 */
export async function runTemplateSuite(
  directory: string,
  server: LlamaServer | null,
  jinja2 = renderByJinja2,
): Promise<TemplateSuite | null> {
  const now = new Date();
  const suite: TemplateSuite = { counts: [], interpreter: [], prompts: [], choices: server === null ? null : [] };
  const cases: TemplateCase[] = [];
  for (const name of readdirSync(directory).sort()) {
    if (!name.endsWith(".jinja")) continue;
    const file = join(directory, name);
    const peer = server === null ? null : await llamaPrompts(server, file, CONVERSATIONS);
    cases.push(caseOf(basename(name, ".jinja"), readFileSync(file, "utf8"), peer, now));
  }
  const jobs = cases.flatMap(({ jobs }) => jobs);
  const results = jinja2(jobs, now);
  if (results === null) return null;
  let at = 0;
  for (const one of cases) {
    suite.counts.push(countsOf(one, results.slice(at, at + one.jobs.length), suite));
    at += one.jobs.length;
  }
  return suite;
}

interface TemplateCase {
  template: string;
  bos: string;
  /** Two for each conversation: as sent, and adapted. */
  jobs: OracleJob[];
  /** Of each conversation as sent, by the interpreter alone. */
  interpreted: Rendering[];
  /** Of each conversation, as the engine makes them. */
  prompts: Rendering[];
  peer: Rendering[] | null;
}

function caseOf(template: string, source: string, peer: LlamaPrompts | null, now: Date): TemplateCase {
  const { bos, eos } = peer ?? TOKENS;
  const chat = new ChatTemplate(source, { bos, eos, specialTokens: [] });
  const jinja = attempt(() => new JinjaTemplate(source));
  const defaults = { documents: null, add_generation_prompt: true };
  const made: TemplateCase = { template, bos, jobs: [], interpreted: [], prompts: [], peer: peer?.prompts ?? null };
  for (const conversation of CONVERSATIONS) {
    const { messages, tools, variables } = conversation;
    const others = { ...defaults, ...variables, bos_token: bos, eos_token: eos };
    const sent = { ...asSent(conversation), ...others };
    const adapted = attempt(() => {
      const { listed, ...adaptedChat } = chat.adapted(messages, tools);
      return { ...listed, ...adaptedChat };
    });
    made.jobs.push(
      { template: source, variables: sent },
      { template: source, variables: "text" in adapted ? { ...templateDates(now), ...adapted.text, ...others } : sent },
    );
    made.interpreted.push(
      attempt(() => {
        if (!("text" in jinja)) throw new Error("no Jinja");
        return jinja.text.render(sent, now);
      }),
    );
    made.prompts.push(
      attempt(() => {
        const { pieces } = chat.render(messages, variables, now, tools);
        return pieces.map(({ text }) => text).join("");
      }),
    );
  }
  return made;
}

/** The variables that transformers makes of a conversation: arguments are objects, as its documentation asks for. */
function asSent({ messages, tools }: Conversation): Record<string, unknown> {
  return {
    messages: messages.map((message) => {
      const { tool_calls: calls, ...rest } = message;
      if (calls === undefined) return rest;
      const parsed = calls.map((call) => {
        return { ...call, function: { ...call.function, arguments: JSON.parse(call.function.arguments) as unknown } };
      });
      return { ...rest, tool_calls: parsed };
    }),
    tools: tools.length > 0 ? tools : null,
  };
}

function countsOf(one: TemplateCase, results: readonly Rendering[], suite: TemplateSuite): TemplateCounts {
  const counts = emptyCounts(one.template);
  CONVERSATIONS.forEach(({ title }, index) => {
    const label = { template: one.template, conversation: title };
    const [sent, adapted] = [results[2 * index]!, results[2 * index + 1]!];
    const [interpreted, prompt] = [one.interpreted[index]!, one.prompts[index]!];
    if ("text" in sent) {
      counts.rendered++;
      if (isEqual(interpreted, sent)) counts.equal++;
      else suite.interpreter.push({ ...label, ...shown(interpreted, sent) });
    } else if ("text" in interpreted) counts.onlyHere++;
    if ("text" in prompt) counts.prompts++;
    const isSent = "text" in prompt && isEqual(prompt, sent);
    const isAdapted = "text" in prompt ? isEqual(prompt, adapted) : !("text" in adapted) && !("text" in sent);
    if (isSent) counts.asSent++;
    if ("text" in prompt && isAdapted) counts.adapted++;
    if (!isSent && !isAdapted) suite.prompts.push({ ...label, ...shown(prompt, adapted) });
    if (one.peer === null) return;
    const peer = withoutBos(one.peer[index]!, one.bos);
    const isPeer = isEqual(withoutBos(prompt, one.bos), peer);
    if (isPeer && "text" in prompt) counts.llama++;
    if (!isSent && !isPeer) suite.choices?.push({ ...label, ...shown(withoutBos(prompt, one.bos), peer) });
  });
  return counts;
}

function emptyCounts(template: string): TemplateCounts {
  const none = { rendered: 0, equal: 0, onlyHere: 0, prompts: 0, asSent: 0, adapted: 0, llama: 0 };
  return { template, conversations: CONVERSATIONS.length, ...none };
}

function isEqual(one: Rendering, other: Rendering): boolean {
  return "text" in one ? "text" in other && one.text === other.text : !("text" in other);
}

/** llama-server leaves the first token out where its tokenizer adds it. */
function withoutBos(rendering: Rendering, bos: string): Rendering {
  if (!("text" in rendering) || bos === "" || !rendering.text.startsWith(bos)) return rendering;
  return { text: rendering.text.slice(bos.length) };
}

function shown(here: Rendering, there: Rendering): Pick<TemplateDifference, "here" | "there"> {
  const [one, other] = [textOf(here), textOf(there)];
  let at = 0;
  if ("text" in here && "text" in there) while (at < one.length && one[at] === other[at]) at++;
  const from = Math.max(0, at - CONTEXT_CHARACTERS);
  return { here: one.slice(from, at + CONTEXT_CHARACTERS), there: other.slice(from, at + CONTEXT_CHARACTERS) };
}

function textOf(rendering: Rendering): string {
  if ("text" in rendering) return rendering.text;
  return "refused" in rendering ? `refused: ${rendering.refused}` : `failed: ${rendering.failed}`;
}

function attempt<T>(make: () => T): { text: T } | { refused: string } | { failed: string } {
  try {
    return { text: make() };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return error instanceof TemplateRefusal ? { refused: reason } : { failed: reason };
  }
}
