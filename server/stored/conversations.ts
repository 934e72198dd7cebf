import type { Caller } from "../../ledger/key.ts";
import { ApiError, invalidRequest } from "../../openapi/api-error.ts";
import { type Clock, epochSeconds } from "../../platform/clock.ts";
import { objectId } from "../../platform/object-id.ts";
import type { Store } from "../../store/store.ts";
import type { Appending } from "../../store/tables/answers/conversations.ts";
import type { AnswerWrite, ConversationRow, NewItem } from "../../store/types/answer-rows.ts";
import type { AnswerBounds } from "./answer-bounds.ts";
import type { ConversationLocks } from "./conversation-locks.ts";
import { itemRow, type KeptItem } from "./item.ts";

export interface ConversationsDeps {
  store: Pick<Store, "conversations">;
  bounds: AnswerBounds;
  locks: ConversationLocks;
  clock: Clock;
}

export interface ItemPage {
  order: "asc" | "desc";
  after: string | null;
  limit: number;
}

/** Rows that one removal takes at once; the sweeper removes the others. */
const REMOVED_ROWS = 500;

/** Conversations of all owners. Every method throws the 404 of a conversation that the owner does not have. */
export class Conversations {
  readonly #deps: ConversationsDeps;

  constructor(deps: ConversationsDeps) {
    this.#deps = deps;
  }

  async create(
    caller: Caller,
    metadata: Readonly<Record<string, string>>,
    items: readonly KeptItem[],
  ): Promise<ConversationRow> {
    const { store, bounds, clock } = this.#deps;
    const row = { id: objectId("conv_"), metadata: JSON.stringify(metadata), createdAt: epochSeconds(clock) };
    const write = bounds.write(caller);
    const outcome = await store.conversations.create({ ...write, row, items: items.map(itemRow) });
    if (outcome !== "created") throw bounds.refused(outcome, write);
    return this.get(caller.owner, row.id);
  }

  async get(owner: string, id: string): Promise<ConversationRow> {
    return found(id, await this.#deps.store.conversations.get({ owner, id }));
  }

  async update(owner: string, id: string, metadata: Readonly<Record<string, string>>): Promise<ConversationRow> {
    const row = await this.#deps.store.conversations.update({ owner, id, metadata: JSON.stringify(metadata) });
    return found(id, row);
  }

  /** Removes a conversation with its items. Responses that used it keep their own. */
  async remove(owner: string, id: string): Promise<void> {
    const { store, locks, clock } = this.#deps;
    await locks.check(owner, id);
    const removal = { owner, id, now: epochSeconds(clock), limit: REMOVED_ROWS };
    if (!(await store.conversations.remove(removal))) throw noConversation(id);
  }

  /** Adds items at the end. Returns them with their ids. */
  async append(caller: Caller, id: string, items: readonly KeptItem[]): Promise<NewItem[]> {
    const { store, bounds, locks } = this.#deps;
    await locks.check(caller.owner, id);
    const write = bounds.write(caller);
    const rows = items.map(itemRow);
    const outcome = await store.conversations.append({ ...write, id, items: rows });
    if (outcome !== "appended") throw this.refused(outcome, id, write);
    return rows;
  }

  /** The error of items that were not added. */
  refused(outcome: Exclude<Appending, "appended">, id: string, write: AnswerWrite): ApiError {
    if (outcome === "absent") return noConversation(id);
    return outcome === "too_many_items" ? conversationFull(id) : this.#deps.bounds.refused(outcome, write);
  }

  async items(owner: string, id: string, page: ItemPage): Promise<{ rows: NewItem[]; hasMore: boolean }> {
    const read = await this.#deps.store.conversations.items({ owner, id, ...page });
    if (read === null) throw noConversation(id);
    if (read === "unknown_cursor") throw unknownCursor();
    return read;
  }

  async item(owner: string, id: string, item: string): Promise<string> {
    await this.get(owner, id);
    const row = await this.#deps.store.conversations.item({ owner, id, item });
    if (row === null) throw noItem(item);
    return row.item;
  }

  async removeItem(owner: string, id: string, item: string): Promise<ConversationRow> {
    await this.#deps.locks.check(owner, id);
    await this.get(owner, id);
    const row = await this.#deps.store.conversations.removeItem({ owner, id, item });
    if (row === null) throw noItem(item);
    return row;
  }
}

export function unknownCursor(): ApiError {
  return invalidRequest("invalid_value", "after", "Invalid 'after': the list has no entry with this id.");
}

export function noItem(id: string, param: string | null = null): ApiError {
  return new ApiError("not_found", `Item with id '${shown(id)}' not found.`, { param });
}

export function noConversation(id: string): ApiError {
  return new ApiError("not_found", `Conversation with id '${shown(id)}' not found.`);
}

export function conversationFull(id: string): ApiError {
  const message = `The conversation '${shown(id)}' has no room for more items.`;
  return invalidRequest("invalid_value", "conversation", message);
}

/** The beginning of an id of a client. */
export function shown(id: string): string {
  return id.slice(0, 64);
}

function found(id: string, row: ConversationRow | null): ConversationRow {
  if (row === null) throw noConversation(id);
  return row;
}
