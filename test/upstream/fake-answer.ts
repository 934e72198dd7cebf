import { type Asked, wordsOf } from "./asked.ts";

/** One choice of a deterministic answer, in pieces of a token each. */
export interface ChoiceAnswer {
  index: number;
  reasoning: string[];
  content: string[];
  calls: { id: string; name: string; arguments: string[] }[];
  finish: "stop" | "length" | "tool_calls";
}

export interface FakeAnswer {
  choices: ChoiceAnswer[];
  /** Tokens of prompt and answer as they truly are; of the latter, those of reasoning. */
  promptTokens: number;
  completionTokens: number;
  reasoningTokens: number;
}

/**
 * The answer follows from the prompt alone:
 *
 * | prompt | answer |
 * |---|---|
 * | `count 4` | `1 2 3 4` |
 * | `call a b`, where tools of these names are offered | a call of each, with the prompt as `text` |
 * | `think …`, where the engine separates reasoning | three words of reasoning, then as below |
 * | anything, in JSON mode | `{"echo":"…"}` |
 * | anything | the same words; of a further choice with `#1`, `#2` … behind |
 */
export function answerOf(asked: Asked, separatesReasoning: boolean): FakeAnswer {
  const choices = asked.prompts.flatMap((prompt, at) =>
    Array.from({ length: asked.n }, (_, nth) => choiceOf(asked, prompt, at * asked.n + nth, nth, separatesReasoning)),
  );
  const reasoningTokens = choices.reduce((sum, { reasoning }) => sum + reasoning.length, 0);
  const rest = choices.reduce((sum, { content, calls }) => {
    return sum + content.length + calls.reduce((all, call) => all + call.arguments.length + 1, 0);
  }, 0);
  return { choices, promptTokens: asked.promptTokens, completionTokens: reasoningTokens + rest, reasoningTokens };
}

function choiceOf(asked: Asked, prompt: string, index: number, nth: number, separatesReasoning: boolean): ChoiceAnswer {
  if (asked.calls.length > 0) {
    const calls = asked.calls.map((name, at) => ({
      id: `call_${index}_${at}`,
      name,
      arguments: inPieces(JSON.stringify({ text: prompt })),
    }));
    return { index, reasoning: [], content: [], calls, finish: "tool_calls" };
  }
  const reasoning = asked.reasons && separatesReasoning ? ["Let", " me", " think"] : [];
  const all = wordsOf(textOf(asked, prompt, nth));
  const { kept, stopped } = stopAt(all, asked.stop);
  const room = Math.max(0, asked.maxTokens - reasoning.length);
  const content = kept.slice(0, room);
  const long = content.length < kept.length || (!stopped && asked.maxTokens < reasoning.length + all.length);
  return {
    index,
    reasoning: reasoning.slice(0, asked.maxTokens),
    content,
    calls: [],
    finish: long ? "length" : "stop",
  };
}

function textOf(asked: Asked, prompt: string, nth: number): string {
  const count = /^count (\d{1,6})$/.exec(prompt.trim())?.[1];
  if (count !== undefined) return Array.from({ length: Number(count) }, (_, at) => at + 1).join(" ");
  const text = nth === 0 ? prompt : `${prompt} #${nth}`;
  return asked.json ? JSON.stringify({ echo: text }) : text;
}

/** The words before a stop string, the last one cut where it begins. */
function stopAt(words: readonly string[], stop: readonly string[]): { kept: string[]; stopped: boolean } {
  const text = words.join("");
  const ends = stop.map((one) => (one === "" ? -1 : text.indexOf(one))).filter((at) => at >= 0);
  return ends.length === 0
    ? { kept: [...words], stopped: false }
    : { kept: wordsOf(text.slice(0, Math.min(...ends))), stopped: true };
}

function inPieces(text: string): string[] {
  return text.match(/.{1,5}/gsu) ?? [];
}

/** Log probabilities of a piece: its own, and of `count` alternatives, itself first. */
export function logprobsOf(piece: string, count: number) {
  const alternatives = Array.from({ length: count }, (_, nth) => ({
    token: nth === 0 ? piece : `${piece}~${nth}`,
    logprob: -0.25 - nth,
    bytes: [...Buffer.from(nth === 0 ? piece : `${piece}~${nth}`)],
  }));
  return { token: piece, logprob: -0.25, bytes: [...Buffer.from(piece)], top_logprobs: alternatives };
}
