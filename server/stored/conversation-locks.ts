import { ApiError } from "../../openapi/api-error.ts";

/** Conversations to which a response is being added. Two at once would interleave their items. */
export class ConversationLocks {
  readonly #locked = new Set<string>();

  /** Locks a conversation until the returned function is called. Throws `conversation_locked` where it is locked. */
  lock(owner: string, id: string): () => void {
    this.check(owner, id);
    const key = keyOf(owner, id);
    this.#locked.add(key);
    return () => void this.#locked.delete(key);
  }

  /** Throws `conversation_locked` while a response is being added. */
  check(owner: string, id: string): void {
    if (!this.#locked.has(keyOf(owner, id))) return;
    const message = "Another process is currently operating on this conversation. Please retry in a few seconds.";
    throw new ApiError("conversation_locked", message, { param: "conversation" });
  }
}

function keyOf(owner: string, id: string): string {
  return JSON.stringify([owner, id]);
}
