import { CHARS_PER_TOKEN } from "../../protocol/prompt.ts";

/** The tokens of an answer with all its choices. */
export interface CountedAnswer {
  promptTokens: number;
  cachedTokens: number;
  reasoningTokens: number;
  /** By choice. */
  completionTokens: number[];
  /** True where the upstream gave no counts that can be right: these are estimates. */
  estimated: boolean;
}

/** Pieces of text that an upstream may send for one token, before its own count is not believed. */
const MOST_PIECES_PER_TOKEN = 8;

/**
 * Tokens of a prompt for one of its estimate, above which an upstream's count is not believed: no text has more tokens than
 * bytes, and no character more than four of those.
 */
const MOST_TOKENS_PER_ESTIMATE = 4 * CHARS_PER_TOKEN;
/** Tokens that a chat template and the upstream's own instructions may add. */
const MOST_ADDED_TOKENS = 16_384;

export interface AnswerCountParts {
  choices: number;
  /** True where each report is of one choice, in the order in which they end. */
  usageByChoice: boolean;
  /** Tokens of the prompt, where the upstream does not say. */
  promptEstimate: number;
  /** Most tokens of a choice. */
  mostTokens: number;
}

interface ChoiceCount {
  pieces: number;
  bytes: number;
}

/**
 * Counts an answer as it comes, beside the counts that the upstream reports: these are used where they can be right. The last
 * report is the one that counts, since some are written before the end; with reports by choice, the last one of each.
 */
export class AnswerCount {
  readonly #choices: ChoiceCount[];
  readonly #promptEstimate: number;
  readonly #mostTokens: number;
  /** Reports that make up the counts of the answer. */
  readonly #reports: number;
  #reported: Record<string, unknown>[] = [];

  constructor({ choices, usageByChoice, promptEstimate, mostTokens }: AnswerCountParts) {
    this.#mostTokens = choices * mostTokens;
    this.#reports = usageByChoice ? choices : 1;
    this.#choices = Array.from({ length: choices }, () => ({ pieces: 0, bytes: 0 }));
    this.#promptEstimate = promptEstimate;
  }

  /** A piece of the choice's text, reasoning or call. */
  add(choice: number, text: string): void {
    const count = this.#choices[choice]!;
    count.pieces++;
    count.bytes += Buffer.byteLength(text);
  }

  /** Null reports, and those without a number, are none. */
  report(usage: unknown): void {
    const fields: Record<string, unknown> = Object(usage);
    if (numberOf(fields.completion_tokens) === null && numberOf(fields.prompt_tokens) === null) return;
    this.#reported = [...this.#reported, fields].slice(-this.#reports);
  }

  /** Tokens of a choice by its pieces and bytes. */
  estimate(choice: number): number {
    const { pieces, bytes } = this.#choices[choice]!;
    return Math.max(pieces, Math.ceil(bytes / CHARS_PER_TOKEN));
  }

  whole(): CountedAnswer {
    const estimates = this.#choices.map((_, choice) => this.estimate(choice));
    const pieces = this.#choices.reduce((sum, count) => sum + count.pieces, 0);
    const { prompt_tokens, prompt_tokens_details } = this.#reported.at(-1) ?? {};
    const prompt = this.#believedPrompt(numberOf(prompt_tokens), pieces);
    const completion = this.#sumOf(({ completion_tokens }) => completion_tokens);
    const reasoning = this.#sumOf(({ completion_tokens_details: of }) => Object(of).reasoning_tokens);
    if (
      prompt === null ||
      completion === null ||
      completion * MOST_PIECES_PER_TOKEN < pieces ||
      completion > this.#mostTokens
    ) {
      return {
        promptTokens: prompt ?? this.#promptEstimate,
        cachedTokens: 0,
        reasoningTokens: 0,
        completionTokens: estimates,
        estimated: true,
      };
    }
    return {
      promptTokens: prompt,
      cachedTokens: Math.min(prompt, numberOf(Object(prompt_tokens_details).cached_tokens) ?? 0),
      reasoningTokens: Math.min(completion, reasoning ?? 0),
      completionTokens: divided(completion, estimates),
      estimated: false,
    };
  }

  /** Null unless every choice has it. */
  #sumOf(count: (report: Record<string, unknown>) => unknown): number | null {
    if (this.#reported.length < this.#reports) return null;
    return this.#reported
      .map((report) => numberOf(count(report)))
      .reduce((a, b) => (a === null || b === null ? null : a + b));
  }

  #believedPrompt(tokens: number | null, pieces: number): number | null {
    if (tokens === null || (pieces > 0 && tokens === 0)) return null;
    return isBelievable(tokens, this.#promptEstimate) ? tokens : null;
  }
}

/** False for more tokens than a prompt of this estimate can have. */
export function isBelievable(promptTokens: number, estimate: number): boolean {
  return promptTokens <= estimate * MOST_TOKENS_PER_ESTIMATE + MOST_ADDED_TOKENS;
}

/** The total in whole parts, in the proportion of the estimates. */
function divided(total: number, estimates: readonly number[]): number[] {
  const sum = estimates.reduce((all, one) => all + one, 0);
  let left = total;
  return estimates.map((estimate, index) => {
    const last = index === estimates.length - 1;
    const part = last ? left : Math.min(left, sum === 0 ? 0 : Math.round((total * estimate) / sum));
    left -= part;
    return part;
  });
}

/** Null unless it is a count. */
export function numberOf(value: unknown): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
}
