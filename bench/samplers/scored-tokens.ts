/** A token of an answer with the log probability that the model gave it. */
export interface ScoredToken {
  token: string;
  logprob: number;
  /** The best tokens at its position. */
  best: ReadonlyMap<string, number>;
}

/** Log probabilities of OpenAI's completions. */
interface CompletionLogprobs {
  tokens: string[];
  token_logprobs: number[];
  top_logprobs: Record<string, number>[];
}

/** Log probabilities of a chat, which llama-server has in completions too. */
interface ChatLogprobs {
  content: { token: string; logprob: number; top_logprobs: { token: string; logprob: number }[] }[];
}

export type Logprobs = CompletionLogprobs | ChatLogprobs;

export function scoredTokens(logprobs: Logprobs): ScoredToken[] {
  if ("content" in logprobs) {
    return logprobs.content.map(({ token, logprob, top_logprobs }) => {
      return { token, logprob, best: new Map(top_logprobs.map((one) => [one.token, one.logprob])) };
    });
  }
  const { tokens, token_logprobs, top_logprobs } = logprobs;
  return tokens.map((token, i) => {
    return { token, logprob: token_logprobs[i]!, best: new Map(Object.entries(top_logprobs[i] ?? {})) };
  });
}

/** The first position at which two answers have different tokens. */
export interface Difference {
  position: number;
  /** Null at a server whose answer ended before. */
  own: Choice | null;
  theirs: Choice | null;
}

export interface Choice {
  token: string;
  logprob: number;
  /** Log probability of the other server's token at this server; null when it is not among the best, or there is none. */
  other: number | null;
}

/** Null for equal tokens. */
export function firstDifference(own: readonly ScoredToken[], theirs: readonly ScoredToken[]): Difference | null {
  for (let position = 0; position < Math.max(own.length, theirs.length); position++) {
    const [a, b] = [own[position], theirs[position]];
    if (a?.token !== b?.token) return { position, own: choice(a, b), theirs: choice(b, a) };
  }
  return null;
}

function choice(scored: ScoredToken | undefined, other: ScoredToken | undefined): Choice | null {
  if (scored === undefined) return null;
  const { token, logprob, best } = scored;
  return { token, logprob, other: (other && best.get(other.token)) ?? null };
}

export function differenceText({ position, own, theirs }: Difference): string {
  return `token ${position + 1} is ${choiceText(own)} here and ${choiceText(theirs)} there`;
}

function choiceText(choice: Choice | null): string {
  if (choice === null) return "none";
  const other = choice.other === null ? "the other's is below the best" : `the other's ${choice.other.toFixed(3)}`;
  return `${JSON.stringify(choice.token)} (${choice.logprob.toFixed(3)}, ${other})`;
}
