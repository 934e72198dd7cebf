import type {
  FinishReason,
  RankedLogprob,
  SequenceOutput,
  TokenLogprob,
  ToolCallDelta,
} from "../../protocol/output.ts";
import { AnswerCount, type CountedAnswer } from "./answer-count.ts";

/** The answer is none that can be read. */
export class UnreadableAnswer extends Error {}

interface ChoiceState {
  /** Null until its finish came. */
  finish: { reason: FinishReason; stop: string | null } | null;
  /** Calls in their order. */
  calls: UpstreamCall[];
}

/** A call as the upstream names it, by its index and its id; either may be missing. */
interface UpstreamCall {
  index: unknown;
  id: string;
}

export interface AnswerReaderParts {
  kind: "chat" | "text";
  choices: number;
  /** True where each report of tokens is of one choice. */
  usageByChoice: boolean;
  /** Tokens of the prompt, where the upstream does not say. */
  promptEstimate: number;
  /** Most tokens of a choice. */
  mostTokens: number;
  /** An id for a call that has none. */
  callId: () => string;
}

/**
 * Reads the chunks of a streamed answer of OpenAI's API, of chats or of completions. The finish of each choice is held back to
 * the end of the answer, where the counts are known.
 */
export class AnswerReader {
  readonly #parts: AnswerReaderParts;
  readonly #choices: ChoiceState[];
  readonly #count: AnswerCount;

  constructor(parts: AnswerReaderParts) {
    this.#parts = parts;
    this.#choices = Array.from({ length: parts.choices }, () => ({ finish: null, calls: [] }));
    this.#count = new AnswerCount(parts);
  }

  /** True once every choice has its finish. */
  get finished(): boolean {
    return this.#choices.every(({ finish }) => finish !== null);
  }

  /** The outputs of one chunk; throws UnreadableAnswer. */
  read(chunk: unknown): SequenceOutput[] {
    const { choices, usage }: Record<string, unknown> = Object(chunk);
    if (usage != null) this.#count.report(usage);
    // A chunk of usage alone has none.
    if (choices == null) return [];
    if (!Array.isArray(choices)) throw new UnreadableAnswer("The choices of a chunk are no list.");
    return choices.flatMap((choice) => this.#choice(Object(choice)));
  }

  /** The finish of every choice, once the answer has ended; throws UnreadableAnswer where one has none. */
  end(): { outputs: SequenceOutput[]; counted: CountedAnswer } {
    const counted = this.#count.whole();
    const outputs = this.#choices.map(({ finish }, index): SequenceOutput => {
      if (finish === null) throw new UnreadableAnswer("The answer ended before the model's turn did.");
      return {
        ...EMPTY,
        index,
        finish: {
          ...finish,
          completionTokens: counted.completionTokens[index]!,
          reasoningTokens: index === 0 ? counted.reasoningTokens : 0,
          prompt: {
            tokens: counted.promptTokens,
            cachedTokens: counted.cachedTokens,
            estimated: counted.estimated,
          },
        },
      };
    });
    return { outputs, counted };
  }

  #choice(choice: Record<string, unknown>): SequenceOutput[] {
    const index = choice.index ?? 0;
    const state = typeof index === "number" ? this.#choices[index] : undefined;
    if (state === undefined) throw new UnreadableAnswer("A chunk is of a choice that was not asked for.");
    // Some engines write an empty one with every chunk.
    if (choice.finish_reason != null && choice.finish_reason !== "") state.finish = finishOf(choice);
    const { text, reasoning, calls } = this.#parts.kind === "chat" ? chatPieces(choice) : textPieces(choice);
    const toolCalls = calls.map((call) => this.#call(state, call));
    const logprobs = this.#parts.kind === "chat" ? chatLogprobs(choice.logprobs) : textLogprobs(choice.logprobs);
    const said = text + reasoning + toolCalls.map(({ name = "", arguments: args }) => name + args).join("");
    if (said === "" && logprobs.length === 0) return [];
    this.#count.add(index as number, said);
    return [
      {
        ...EMPTY,
        index: index as number,
        text,
        reasoning,
        tokens: 1,
        ...(toolCalls.length > 0 && { toolCalls }),
        ...(logprobs.length > 0 && { logprobs }),
      },
    ];
  }

  #call({ calls }: ChoiceState, { index, id, function: called }: Record<string, unknown>): ToolCallDelta {
    const { name, arguments: args }: Record<string, unknown> = Object(called);
    const [callName, callId] = [textOf(name), textOf(id)];
    const piece = { arguments: textOf(args) };
    const at = knownCall(calls, index, callName, callId);
    if (at >= 0) return { index: at, ...piece };
    if (callName === "") throw new UnreadableAnswer("A tool call has no name.");
    calls.push({ index, id: callId });
    return { index: calls.length - 1, ...piece, id: callId === "" ? this.#parts.callId() : callId, name: callName };
  }
}

/**
 * The call that a piece continues; -1 for a new one. A name with another id begins a new call, since some engines give all
 * calls the index 0; so does a name without an index.
 */
function knownCall(calls: readonly UpstreamCall[], index: unknown, name: string, id: string): number {
  const at = typeof index === "number" ? calls.findLastIndex((call) => call.index === index) : calls.length - 1;
  if (name === "") return at;
  const other = typeof index !== "number" || (id !== "" && calls[at]?.id !== "" && calls[at]?.id !== id);
  return other ? -1 : at;
}

const EMPTY: SequenceOutput = { id: 0, index: 0, text: "", reasoning: "", tokens: 0, finish: null };

function chatPieces({ delta, message }: Record<string, unknown>) {
  // A message is in place of the deltas where the upstream did not stream.
  const { content, reasoning_content, reasoning, tool_calls, refusal }: Record<string, unknown> = Object(
    delta ?? message,
  );
  return {
    text: textOf(content) || textOf(refusal),
    reasoning: textOf(reasoning_content) || textOf(reasoning),
    calls: Array.isArray(tool_calls) ? tool_calls.map((call) => Object(call)) : [],
  };
}

function textPieces({ text }: Record<string, unknown>) {
  return { text: textOf(text), reasoning: "", calls: [] };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Reasons with which engines and gateways give up on a request, within a stream that ends in good order. */
const BROKEN_OFF = ["abort", "error"];

/** vLLM names the stop string in `stop_reason`. */
function finishOf({ finish_reason, stop_reason, matched_stop }: Record<string, unknown>) {
  if (BROKEN_OFF.includes(String(finish_reason))) throw new UnreadableAnswer("The upstream broke the answer off.");
  const reason: FinishReason =
    finish_reason === "length"
      ? "length"
      : finish_reason === "tool_calls" || finish_reason === "function_call"
        ? "tool_calls"
        : "stop";
  const stop = typeof stop_reason === "string" ? stop_reason : typeof matched_stop === "string" ? matched_stop : null;
  return { reason, stop };
}

function chatLogprobs(logprobs: unknown): RankedLogprob[] {
  const { content }: Record<string, unknown> = Object(logprobs);
  if (!Array.isArray(content)) return [];
  return content.map((entry) => {
    const { top_logprobs: top } = Object(entry);
    return { ...tokenOf(entry), top: Array.isArray(top) ? top.map(tokenOf) : [] };
  });
}

function tokenOf(entry: unknown): TokenLogprob {
  const { token, bytes, logprob }: Record<string, unknown> = Object(entry);
  const raw = Array.isArray(bytes) ? Uint8Array.from(bytes, Number) : Buffer.from(textOf(token));
  return { bytes: raw, logprob: typeof logprob === "number" ? logprob : Number.NEGATIVE_INFINITY };
}

/** llama-server writes those of completions as those of chats. */
function textLogprobs(logprobs: unknown): RankedLogprob[] {
  const { tokens, token_logprobs, top_logprobs }: Record<string, unknown> = Object(logprobs);
  if (!Array.isArray(tokens)) return chatLogprobs(logprobs);
  const values = Array.isArray(token_logprobs) ? token_logprobs : [];
  const tops = Array.isArray(top_logprobs) ? top_logprobs : [];
  return tokens.map((token, index) => ({
    ...tokenOf({ token, logprob: values[index] }),
    top: Object.entries(Object(tops[index])).map(([text, logprob]) => tokenOf({ token: text, logprob })),
  }));
}
