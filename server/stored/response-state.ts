import type { Caller } from "../../ledger/key.ts";
import { type ApiError, invalidRequest } from "../../openapi/api-error.ts";
import type { Item } from "../../openapi/responses/item.ts";
import type { Store } from "../../store/store.ts";
import { type Keeping, MOST_CHAINED } from "../../store/tables/answers/responses.ts";
import type { AnswerWrite, NewItem, NewResponse, ResponseRow, ResponseStatus } from "../../store/types/answer-rows.ts";
import type { ContextSource, ResponseState } from "../dialects/responses/response-state.ts";
import type { AnswerBounds } from "./answer-bounds.ts";
import type { ConversationLocks } from "./conversation-locks.ts";
import { type Conversations, noItem, shown } from "./conversations.ts";
import { itemRow, type KeptItem } from "./item.ts";

/** A response as answered; fields that are not named here are stored as they are. */
export interface KeptResponse {
  id: string;
  created_at: number;
  status: ResponseStatus;
  model: string;
  output: readonly KeptItem[];
  background?: boolean | null;
  store?: boolean | null;
  previous_response_id?: string | null;
  conversation?: { id: string } | null;
  [field: string]: unknown;
}

export interface StoredStateDeps {
  store: Pick<Store, "responses" | "conversations">;
  bounds: AnswerBounds;
  conversations: Conversations;
  locks: ConversationLocks;
  /** Most bytes of a context: those of a request body. */
  maxContextBytes: number;
}

/** Ids that one read looks up. */
const LOOKED_UP = 64;
/** Items of one read, whose texts are bounded too. */
const READ_ITEMS = 1000;

/** The state of responses in the store. */
export class StoredState implements ResponseState {
  readonly #deps: StoredStateDeps;

  constructor(deps: StoredStateDeps) {
    this.#deps = deps;
  }

  async context(owner: string, from: ContextSource): Promise<readonly Item[]> {
    return "conversationId" in from
      ? this.#conversation(owner, from.conversationId)
      : this.#chain(await this.#continued(owner, from.previousResponseId));
  }

  async items(owner: string, ids: readonly string[]): Promise<ReadonlyMap<string, Item>> {
    const found = new Map<string, Item>();
    const distinct = [...new Set(ids)];
    for (let start = 0; start < distinct.length; start += LOOKED_UP) {
      const some = distinct.slice(start, start + LOOKED_UP);
      for (const row of await this.#deps.store.responses.items({ owner, ids: some })) found.set(row.id, parsed(row));
    }
    for (const id of distinct) if (!found.has(id)) throw noItem(id, "input");
    return found;
  }

  lockConversation(owner: string, id: string): Promise<() => void> {
    return this.#deps.locks.lock(owner, id);
  }

  reserve(caller: Caller): Promise<() => void> {
    return this.#deps.bounds.reserve(caller);
  }

  async keep(caller: Caller, response: KeptResponse, input: readonly KeptItem[]): Promise<void> {
    const { store, bounds } = this.#deps;
    if (response.store === false) {
      const write = bounds.write(caller);
      const conversation = response.conversation?.id ?? null;
      if (conversation !== null) await this.#append(write, conversation, [...input, ...response.output]);
      return;
    }
    const kept = this.row(caller, response, input);
    const outcome = await store.responses.keep(kept);
    if (outcome !== "kept") throw this.refused(outcome, kept);
  }

  /** The row of a response, with its items. */
  row(caller: Caller, response: KeptResponse, input: readonly KeptItem[]): NewResponse {
    return {
      ...this.#deps.bounds.write(caller),
      row: {
        id: response.id,
        model: response.model,
        status: response.status,
        background: response.background === true ? 1 : 0,
        conversation: response.conversation?.id ?? null,
        object: JSON.stringify({ ...response, output: [] }),
        createdAt: response.created_at,
      },
      parent: response.previous_response_id ?? null,
      input: input.map(itemRow),
      output: response.output.map(itemRow),
    };
  }

  /** The error of a response that was not kept. */
  refused(outcome: Exclude<Keeping, "kept">, { row, parent, ...write }: NewResponse): ApiError {
    const { conversations } = this.#deps;
    const conversation = row.conversation ?? "";
    switch (outcome) {
      case "absent_parent":
        return noPrevious(parent ?? "");
      case "chain_too_long":
        return chainTooLong();
      case "absent_conversation":
        return conversations.refused("absent", conversation, write);
      default:
        return conversations.refused(outcome, conversation, write);
    }
  }

  /** Appends items while their response has the conversation's lock. */
  async #append(write: AnswerWrite, id: string, items: readonly KeptItem[]): Promise<void> {
    const { store, conversations } = this.#deps;
    const outcome = await store.conversations.append({ ...write, id, items: items.map(itemRow) });
    if (outcome !== "appended") throw conversations.refused(outcome, id, write);
  }

  /** A response that may be continued. */
  async #continued(owner: string, id: string): Promise<ResponseRow> {
    const row = await this.#deps.store.responses.get({ owner, id });
    if (row === null) throw noPrevious(id);
    if (row.status !== "completed" && row.status !== "incomplete") {
      const message = `Invalid 'previous_response_id': the response '${shown(id)}' is ${row.status}.`;
      throw invalidRequest("invalid_value", "previous_response_id", message);
    }
    if (row.depth >= MOST_CHAINED) throw chainTooLong();
    this.#checkBytes(row.chainBytes, "previous_response_id");
    return row;
  }

  async #chain({ seq, id, chainItems }: ResponseRow): Promise<Item[]> {
    const items: Item[] = [];
    for (let after = 0; ; ) {
      const read = { seq, after, order: "asc" as const, withOutput: true, limit: READ_ITEMS };
      const { rows, more } = await this.#deps.store.responses.chain(read);
      items.push(...rows.map(parsed));
      after = rows.at(-1)?.seq ?? after;
      if (more) continue;
      // Its removal between two reads takes the items that no other response keeps.
      if (items.length < chainItems) throw noPrevious(id);
      return items;
    }
  }

  async #conversation(owner: string, id: string): Promise<Item[]> {
    const { conversations } = this.#deps;
    this.#checkBytes((await conversations.get(owner, id)).bytes, "conversation");
    const items: Item[] = [];
    for (let after: string | null = null; ; ) {
      const page = await conversations.items(owner, id, { order: "asc", after, limit: READ_ITEMS });
      items.push(...page.rows.map(parsed));
      after = page.rows.at(-1)?.id ?? after;
      if (!page.hasMore) return items;
    }
  }

  #checkBytes(bytes: number, param: string): void {
    const { maxContextBytes } = this.#deps;
    if (bytes <= maxContextBytes) return;
    const message = `The stored items before this input have ${bytes} bytes, and at most ${maxContextBytes} are read. Start anew, or send fewer items.`;
    throw invalidRequest("context_length_exceeded", param, message);
  }
}

function parsed({ item }: NewItem): Item {
  return JSON.parse(item);
}

function noPrevious(id: string): ApiError {
  const message = `Previous response with id '${shown(id)}' not found.`;
  return invalidRequest("previous_response_not_found", "previous_response_id", message);
}

function chainTooLong(): ApiError {
  const message = `The chain of previous responses has ${MOST_CHAINED} responses, which is the most. Start a new one.`;
  return invalidRequest("context_length_exceeded", "previous_response_id", message);
}
