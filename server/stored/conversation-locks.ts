import { ApiError } from "../../openapi/api-error.ts";
import type { Store } from "../../store/store.ts";

/**
 * Conversations to which a response is being added. Two at once would interleave their items.
 *
 * | lock | of | from | to |
 * |---|---|---|---|
 * | of this process | a response that a client waits for, or one in the background that is being created | its read of the conversation | its end, its creation |
 * | of the store | a response in the background | its creation | its end, also after a restart |
 */
export class ConversationLocks {
  readonly #store: Pick<Store, "conversations">;
  readonly #locked = new Set<string>();

  constructor(store: Pick<Store, "conversations">) {
    this.#store = store;
  }

  /** Locks a conversation until the returned function is called. Throws `conversation_locked` where it is locked. */
  async lock(owner: string, id: string): Promise<() => void> {
    const key = keyOf(owner, id);
    if (this.#locked.has(key)) throw locked(IN_PROCESS);
    this.#locked.add(key);
    const release = () => void this.#locked.delete(key);
    try {
      await this.#checkStore(owner, id);
    } catch (error) {
      release();
      throw error;
    }
    return release;
  }

  /** Throws `conversation_locked` while a response is being added. */
  async check(owner: string, id: string): Promise<void> {
    if (this.#locked.has(keyOf(owner, id))) throw locked(IN_PROCESS);
    await this.#checkStore(owner, id);
  }

  async #checkStore(owner: string, id: string): Promise<void> {
    const response = await this.#store.conversations.lockedBy({ owner, id });
    if (response === null) return;
    throw locked(
      `The response '${response}' in the background is being added to this conversation. Wait, or cancel it.`,
    );
  }
}

const IN_PROCESS = "Another process is currently operating on this conversation. Please retry in a few seconds.";

function locked(message: string): ApiError {
  return new ApiError("conversation_locked", message, { param: "conversation" });
}

function keyOf(owner: string, id: string): string {
  return JSON.stringify([owner, id]);
}
