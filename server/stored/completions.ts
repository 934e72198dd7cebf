import type { Caller } from "../../ledger/key.ts";
import { ApiError } from "../../openapi/api-error.ts";
import type { Store } from "../../store/store.ts";
import type { CompletionList } from "../../store/tables/answers/completions.ts";
import type { CompletionRow, NewCompletion } from "../../store/types/answer-rows.ts";
import type { AnswerBounds } from "./answer-bounds.ts";
import { shown, unknownCursor } from "./conversations.ts";

export interface StoredCompletionsDeps {
  store: Pick<Store, "completions">;
  bounds: AnswerBounds;
}

/** Stored chat completions. Every method throws the 404 of a completion that the owner does not have. */
export class StoredCompletions {
  readonly #deps: StoredCompletionsDeps;

  constructor(deps: StoredCompletionsDeps) {
    this.#deps = deps;
  }

  reserve(caller: Caller): Promise<() => void> {
    return this.#deps.bounds.reserve(caller);
  }

  /** Resolves when the completion is durable. */
  async add(caller: Caller, completion: Pick<NewCompletion, "row" | "metadata" | "messages">): Promise<void> {
    const { store, bounds } = this.#deps;
    const write = bounds.write(caller);
    const outcome = await store.completions.insert({ ...write, ...completion });
    if (outcome !== "inserted") throw bounds.refused(outcome, write);
  }

  async get(owner: string, id: string): Promise<object> {
    return whole(id, await this.#deps.store.completions.get({ owner, id }));
  }

  async list(
    args: Omit<CompletionList, "from">,
  ): Promise<{ completions: (object & { id: string })[]; hasMore: boolean }> {
    const rows: CompletionRow[] = [];
    // Each read visits a bounded number of completions, of which few may fit.
    for (let from: number | null = null; ; ) {
      const part = await this.#deps.store.completions.list({ ...args, from, limit: args.limit - rows.length });
      if (part === "unknown_cursor") throw unknownCursor();
      rows.push(...part.rows);
      from = part.next;
      if (from === null) return { completions: rows.map((row) => whole(row.id, row)), hasMore: part.more };
    }
  }

  /** Replaces the metadata. */
  async update(owner: string, id: string, metadata: Readonly<Record<string, string>>): Promise<object> {
    return whole(id, await this.#deps.store.completions.setMetadata({ owner, id, metadata }));
  }

  async remove(owner: string, id: string): Promise<void> {
    if (!(await this.#deps.store.completions.remove({ owner, id }))) throw noCompletion(id);
  }

  /** The messages of the request, as JSON. */
  async messages(owner: string, id: string): Promise<string> {
    const messages = await this.#deps.store.completions.messages({ owner, id });
    if (messages === null) throw noCompletion(id);
    return messages;
  }
}

function whole(id: string, row: CompletionRow | null): object & { id: string } {
  if (row === null) throw noCompletion(id);
  return { ...JSON.parse(row.object), metadata: JSON.parse(row.metadata) };
}

function noCompletion(id: string): ApiError {
  return new ApiError("not_found", `Chat completion with id '${shown(id)}' not found.`, { param: "id" });
}
