import type { Asked } from "../../engine/engine.ts";
import type { ChatMessage, Prompt } from "../../engine/protocol/prompt.ts";
import { ApiError } from "../../openapi/api-error.ts";
import type { ReadyModel } from "../admission/ready-model.ts";
import type { GenerationRequest } from "./request.ts";

type ChatPrompt = Extract<Prompt, { kind: "chat" }>;

/** The part of the context that a truncated prompt leaves to its answer at least, where no bound asks for less. */
const ANSWER_SHARE = 1 / 8;

/**
 * The request with a prompt that leaves room for its answer: whole turns are dropped, oldest first, and of the last one the
 * earlier calls with their outputs. System and developer messages at the beginning stay, and so does the end of the last turn,
 * even where it is too long: then the engine refuses it.
 */
export async function withinContext<Request extends Pick<GenerationRequest, "submissions">>(
  request: Request,
  ready: Pick<ReadyModel, "model" | "facts">,
  signal: AbortSignal,
): Promise<Request> {
  const { facts } = ready;
  const fits = (prompt: ChatPrompt, most: number) => hasTokens(prompt, most, ready, signal);
  const shortened = async (asked: Asked): Promise<Asked> => {
    const { prompt, maxTokens } = asked;
    if (prompt.kind !== "chat") return asked;
    const room = Math.ceil(Math.min(maxTokens ?? Number.POSITIVE_INFINITY, facts.context * ANSWER_SHARE));
    return { ...asked, prompt: await longestFitting(prompt, (shorter) => fits(shorter, facts.context - room)) };
  };
  return { ...request, submissions: await Promise.all(request.submissions.map(shortened)) };
}

/** True where a prompt has this many tokens at most. */
export async function hasTokens(
  prompt: Prompt,
  most: number,
  { model }: Pick<ReadyModel, "model">,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const { tokens } = await model.engine.tokenize({ kind: "prompt", prompt, pieces: false }, signal);
    return tokens.length <= most;
  } catch (error) {
    if (error instanceof ApiError && error.code === "context_length_exceeded") return false;
    throw error;
  }
}

/** The longest of the prompts with fewer turns that fits; the shortest one where none does. */
async function longestFitting(prompt: ChatPrompt, fits: (prompt: ChatPrompt) => Promise<boolean>): Promise<ChatPrompt> {
  const { messages } = prompt;
  const lead = messages.findIndex(({ role }) => role !== "system" && role !== "developer");
  if (lead === -1) return prompt;
  const starts = turnStarts(messages, lead);
  const last = messages.findLastIndex(({ role }) => role === "user");
  const from = (start: number): ChatPrompt => {
    // Replies to the last message of the user stay behind it.
    const asked = start > last && last >= lead ? [messages[last]!] : [];
    return { ...prompt, messages: [...messages.slice(0, lead), ...asked, ...messages.slice(start)] };
  };
  // Prompts become shorter with each start: the first one that fits is found by halving.
  let [low, high] = [0, starts.length - 1];
  if (await fits(prompt)) return prompt;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (await fits(from(starts[middle]!))) high = middle;
    else low = middle + 1;
  }
  return starts.length === 0 ? prompt : from(starts[low]!);
}

/** The places at which a shorter conversation may begin: later messages of users, and replies to the last of them. */
function turnStarts(messages: readonly ChatMessage[], lead: number): number[] {
  const last = messages.findLastIndex(({ role }) => role === "user");
  return messages.flatMap(({ role }, index) => {
    if (index <= lead) return [];
    return role === "user" || (role === "assistant" && index > last) ? [index] : [];
  });
}
