import type { Caller } from "../../../ledger/key.ts";
import type { Item } from "../../../openapi/responses/item.ts";
import type { ResponseObject } from "../../../openapi/responses/response.ts";

/** The stored items that go before an input. */
export type ContextSource = { previousResponseId: string } | { conversationId: string };

/** Stored context of responses, and where finished ones are kept. */
export interface ResponseState {
  /**
   * Items that go before the input: those of the chain of `previousResponseId`, or of a conversation, oldest first. Throws
   * the ApiError of an unknown, foreign or unfinished one, and of more items than a request may have bytes.
   */
  context(owner: string, from: ContextSource): Promise<readonly Item[]>;
  /** Items by id, for `item_reference`; throws the ApiError of an unknown one. */
  items(owner: string, ids: readonly string[]): Promise<ReadonlyMap<string, Item>>;
  /** Locks a conversation until the returned function is called. Throws `conversation_locked` where it is locked. */
  lockConversation(owner: string, id: string): Promise<() => void>;
  /** Reserves the place of a response until the returned function is called. Throws the 507 of an owner without one. */
  reserve(caller: Caller): Promise<() => void>;
  /**
   * Keeps a finished response (the object as answered) with the items of its own input, and appends both to its
   * conversation, if any and unless it failed. Resolves when it is durable. A response whose `store` is false is only
   * appended to its conversation. An input item that a reference named is kept already, under the same id.
   */
  keep(caller: Caller, response: ResponseObject, input: readonly Item[]): Promise<void>;
}
