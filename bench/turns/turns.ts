import { Random } from "../base/random.ts";
import { spread } from "../base/statistics.ts";
import { figure, spreadText } from "../base/table.ts";
import { call, json } from "../target/call.ts";
import { interleave } from "../target/rounds.ts";
import type { Target } from "../target/target.ts";
import { firstTextMs } from "./first-text.ts";

export interface TurnPlan {
  turns: number;
  /** Digits of each input, and tokens of each answer. */
  digits: number;
  tokens: number;
  /** Requests of each kind for the time to first token, interleaved. */
  repeats: number;
  seed: number;
}

/** One turn of the conversation. */
export interface Turn {
  id: string;
  input: string;
  answer: string;
  inputTokens: number;
  cachedTokens: number;
}

export interface FirstTokens {
  turn: number;
  inputTokens: number;
  /** Milliseconds to the first text of each repeat. */
  byResponse: number[];
  asMessages: number[];
}

export interface TurnResult {
  turns: Turn[];
  first: FirstTokens[];
}

/** A conversation by `previous_response_id`, and the time to first token of its turns 2 and last in two forms. */
export async function measureTurns(target: Target, plan: TurnPlan): Promise<TurnResult> {
  const random = new Random(plan.seed);
  const turns: Turn[] = [];
  for (let number = 0; number < plan.turns; number++) turns.push(await turn(target, plan, turns, digits(plan, random)));
  const arms = [2, plan.turns].flatMap((number) =>
    (["response", "messages"] as const).map((form) => ({ number, form })),
  );
  const times = await interleave(arms, plan.repeats + 1, ({ number, form }) => {
    // An input that was not sent before: the history alone is cached.
    const input = digits(plan, random);
    const before = turns.slice(0, number - 1);
    const { path, body } = form === "response" ? asResponse(before, input, plan) : asChat(before, input, plan);
    return firstTextMs(target, path, { ...settings(target), ...body, stream: true });
  });
  // The first repeat warms up.
  const [second, secondChat, last, lastChat] = times.map((all) => all.slice(1));
  const first = (number: number, byResponse: number[], asMessages: number[]) => {
    return { turn: number, inputTokens: turns[number - 1]!.inputTokens, byResponse, asMessages };
  };
  return { turns, first: [first(2, second!, secondChat!), first(plan.turns, last!, lastChat!)] };
}

interface Answered {
  id: string;
  output: { type: string; content?: { text: string }[] }[];
  usage: { input_tokens: number; input_tokens_details: { cached_tokens: number } };
}

async function turn(target: Target, plan: TurnPlan, before: readonly Turn[], input: string): Promise<Turn> {
  const { path, body } = asResponse(before, input, plan);
  const init = json({ ...settings(target), ...body, store: true });
  const { id, output, usage } = await call<Answered>(target, path, init);
  const answer = output.flatMap(({ content }) => content ?? []).map(({ text }) => text);
  return {
    id,
    input,
    answer: answer.join(""),
    inputTokens: usage.input_tokens,
    cachedTokens: usage.input_tokens_details.cached_tokens,
  };
}

function asResponse(before: readonly Turn[], input: string, { tokens }: TurnPlan) {
  const previous = before.at(-1)?.id ?? null;
  return {
    path: "responses",
    body: { input, previous_response_id: previous, max_output_tokens: tokens, store: false },
  };
}

function asChat(before: readonly Turn[], input: string, { tokens }: TurnPlan) {
  const said = before.flatMap(({ input: question, answer }) => [
    message("user", question),
    message("assistant", answer),
  ]);
  return { path: "chat/completions", body: { messages: [...said, message("user", input)], max_tokens: tokens } };
}

function message(role: string, content: string) {
  return { role, content };
}

function settings({ model }: Target) {
  return { model, temperature: 0, ignore_eos: true };
}

function digits({ digits: count }: TurnPlan, random: Random): string {
  return Array.from({ length: count }, () => random.integer(0, 9)).join("");
}

const computed = ({ inputTokens, cachedTokens }: Turn) => inputTokens - cachedTokens;

export const COMPUTED_HEAD = ["turn", "input tokens", "new since the turn before", "computed"];

/** Some turns, and the most of all after the first. */
export function computedRows({ turns }: TurnResult): string[][] {
  const fresh = turns.map(({ inputTokens }, i) => inputTokens - (turns[i - 1]?.inputTokens ?? 0));
  const numbers = [1, 2, Math.ceil(turns.length / 2), turns.length];
  const later = turns.slice(1);
  return [
    ...numbers.map((number) => {
      const one = turns[number - 1]!;
      return [String(number), String(one.inputTokens), String(fresh[number - 1]), String(computed(one))];
    }),
    ["most of 2 and later", "", String(Math.max(...fresh.slice(1))), String(Math.max(...later.map(computed)))],
  ];
}

export const FIRST_HEAD = ["turn", "input tokens", "TTFT by previous_response_id ms", "as messages ms", "× messages"];

export function firstRows({ first }: TurnResult): string[][] {
  return first.map(({ turn: number, inputTokens, byResponse, asMessages }) => [
    String(number),
    String(inputTokens),
    spreadText(spread(byResponse)),
    spreadText(spread(asMessages)),
    spreadText(spread(byResponse.map((ms, i) => ms / asMessages[i]!))),
  ]);
}

/** Turns that computed more than was new since the turn before. */
export function turnDoubts({ turns }: TurnResult): string[] {
  return turns.flatMap((one, i) => {
    const fresh = one.inputTokens - (turns[i - 1]?.inputTokens ?? 0);
    if (computed(one) <= fresh) return [];
    return [`turn ${i + 1} computed ${figure(computed(one))} tokens, of which ${figure(fresh)} were new`];
  });
}
