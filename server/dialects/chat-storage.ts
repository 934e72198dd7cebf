import type { Caller } from "../../ledger/key.ts";
import type { ChatRequest } from "../../openapi/generation/chat.ts";
import { jsonBytes } from "../../openapi/json/json-pieces.ts";
import type { NewCompletion } from "../../store/types/answer-rows.ts";
import type { CompleteAnswer } from "../generation/request.ts";
import { chatCompletion } from "./chat-response.ts";

/** Keeps chat completions. */
export interface CompletionStore {
  /** Reserves the place of a completion until the returned function is called. Throws the 507 of an owner without one. */
  reserve(caller: Caller): Promise<() => void>;
  /** Resolves when the completion is durable. Throws the ApiError of one that cannot be stored. */
  add(caller: Caller, completion: Pick<NewCompletion, "row" | "metadata" | "messages">): Promise<void>;
}

/** Stores the completions of a body, with its messages and the fields by which it was answered. */
export function completionKeeper(
  body: ChatRequest,
  completions: CompletionStore,
): (answer: CompleteAnswer) => Promise<void> {
  return async ({ identity, choices, end, caller, requestId }) => {
    const { id, model, created: createdAt } = identity;
    const completion = {
      ...chatCompletion(
        identity,
        choices.map((choice) => ({ ...choice, logprobs: null })),
        end,
      ),
      request_id: requestId,
      tool_choice: body.tool_choice ?? null,
      tools: body.tools ?? null,
      seed: body.seed ?? null,
      temperature: body.temperature ?? 1,
      top_p: body.top_p ?? 1,
      presence_penalty: body.presence_penalty ?? 0,
      frequency_penalty: body.frequency_penalty ?? 0,
      response_format: body.response_format ?? null,
      input_user: body.user ?? null,
    };
    const [object, messages] = [await text(completion), await text(body.messages)];
    await completions.add(caller, { row: { id, model, object, createdAt }, metadata: body.metadata ?? {}, messages });
  };
}

async function text(value: unknown): Promise<string> {
  return String(await jsonBytes(value));
}
