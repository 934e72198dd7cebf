import { ApiError } from "../../openapi/api-error.ts";
import { type Clock, epochSeconds } from "../../platform/clock.ts";
import type { Store } from "../../store/store.ts";
import type { NewItem, ResponseRow } from "../../store/types/answer-rows.ts";
import { type ItemPage, shown, unknownCursor } from "./conversations.ts";

export interface StoredResponsesDeps {
  store: Pick<Store, "responses">;
  clock: Clock;
}

/** Rows that one removal takes at once; the sweeper removes the others. */
const REMOVED_ROWS = 500;

/** Stored responses. Every method throws the 404 of a response that the owner does not have. */
export class StoredResponses {
  readonly #deps: StoredResponsesDeps;

  constructor(deps: StoredResponsesDeps) {
    this.#deps = deps;
  }

  async row(owner: string, id: string): Promise<ResponseRow> {
    const row = await this.#deps.store.responses.get({ owner, id });
    if (row === null) throw noResponse(id);
    return row;
  }

  /** The response as it was answered. */
  async get(owner: string, id: string): Promise<object> {
    return this.#whole(await this.row(owner, id));
  }

  async remove(owner: string, id: string): Promise<void> {
    const { store, clock } = this.#deps;
    const removal = { owner, id, now: epochSeconds(clock), limit: REMOVED_ROWS };
    if (!(await store.responses.remove(removal))) throw noResponse(id);
  }

  /** The items from which the response was generated: those of the chain before it, and of its own input. */
  async inputItems(owner: string, id: string, page: ItemPage): Promise<{ rows: NewItem[]; hasMore: boolean }> {
    const { responses } = this.#deps.store;
    const { order, limit } = page;
    const { seq } = await this.row(owner, id);
    let after: number | null = order === "asc" ? 0 : Number.MAX_SAFE_INTEGER;
    if (page.after !== null) after = await responses.place({ seq, owner, id: page.after });
    if (after === null) throw unknownCursor();
    const { rows, more } = await responses.chain({ seq, after, order, withOutput: false, limit });
    return { rows, hasMore: more };
  }

  async #whole({ seq, owner, id, status, object }: ResponseRow): Promise<object> {
    const output: unknown[] = [];
    for (let after = 0; ; ) {
      const { rows, more } = await this.#deps.store.responses.output({ seq, after });
      output.push(...rows.map(({ item }): unknown => JSON.parse(item)));
      // A removal meanwhile has taken the items that were not read.
      if (after > 0 || rows.length === 0) await this.row(owner, id);
      after = rows.at(-1)?.seq ?? after;
      // The keys keep their places. The object of a response in progress is as it was queued.
      if (!more) return { ...JSON.parse(object), status, output };
    }
  }
}

export function noResponse(id: string): ApiError {
  return new ApiError("not_found", `Response with id '${shown(id)}' not found.`, { param: "id" });
}
