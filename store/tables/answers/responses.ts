import type { Database } from "better-sqlite3";
import { type ItemRow, type NewItem, type NewResponse, RESPONSE, type ResponseRow } from "../../types/answer-rows.ts";
import { boundedRead } from "../../types/bounded-read.ts";
import type { Page } from "../../types/cursor-page.ts";
import { erasedKeyOf } from "../../types/erased-key.ts";
import { answerRefusal, MIN_ANSWER_BYTES, type Refusal } from "../../types/storage.ts";
import { conversationAppending, itemBytes } from "./conversations.ts";
import { streamInsertion, streamRemoval } from "./response-streams.ts";

/** Most responses of a chain: one read of a chain visits each. */
export const MOST_CHAINED = 2048;

export type Keeping =
  | "kept"
  | "absent_parent"
  | "chain_too_long"
  | "absent_conversation"
  | "too_many_items"
  | Refusal
  | "erased";

/** The responses that @seq continues, and itself. */
const CHAIN = `WITH RECURSIVE chain (seq, parent) AS (
    SELECT seq, parent FROM responses WHERE seq = @seq
    UNION ALL SELECT r.seq, r.parent FROM chain JOIN responses r ON r.seq = chain.parent)`;

/** Removes removed responses that no other one continues, with their items; of all owners, or of one. */
export function responseCollection(db: Database) {
  const next = db.prepare<[], { seq: number }>(
    "SELECT seq FROM responses WHERE removed_at IS NOT NULL AND children = 0 LIMIT 1",
  );
  const nextOf = db.prepare<{ owner: string }, { seq: number }>(
    "SELECT seq FROM responses WHERE owner = @owner AND removed_at IS NOT NULL AND children = 0 LIMIT 1",
  );
  const removeItems = db.prepare<{ seq: number; limit: number }>(
    "DELETE FROM response_items WHERE seq IN (SELECT seq FROM response_items WHERE response = @seq LIMIT @limit)",
  );
  const removeStream = streamRemoval(db);
  const remove = db.prepare<{ seq: number }>("DELETE FROM responses WHERE seq = @seq");
  /** Returns how many rows were removed, at most `limit`; fewer when none is left. */
  return (owner: string | null, limit: number): number => {
    let removed = 0;
    while (removed < limit) {
      const gone = owner === null ? next.get() : nextOf.get({ owner });
      if (gone === undefined) break;
      removed += removeItems.run({ seq: gone.seq, limit: limit - removed }).changes;
      if (removed === limit) break;
      removed += removeStream({ seq: gone.seq, limit: limit - removed });
      if (removed === limit) break;
      removed += remove.run(gone).changes;
    }
    return removed;
  };
}

/** Responses, each with the items of its own input and output; the items of a chain are read along its parents. */
export function responses(db: Database) {
  const collect = responseCollection(db);
  const get = db.prepare<{ owner: string; id: string }, ResponseRow>(
    `SELECT ${RESPONSE.select} FROM responses WHERE id = @id AND owner = @owner AND removed_at IS NULL`,
  );
  const mark = db.prepare<{ owner: string; id: string; now: number }>(
    "UPDATE responses SET removed_at = @now WHERE id = @id AND owner = @owner AND removed_at IS NULL",
  );

  return {
    reads: { get: (args: { owner: string; id: string }): ResponseRow | null => get.get(args) ?? null, ...reads(db) },
    writes: {
      keep: responseKeeping(db),
      /**
       * Removes a response. A later one that continues it keeps its items, and items beyond `limit` are left to `collect`.
       * False for an unknown one.
       */
      remove(args: { owner: string; id: string; now: number; limit: number }): boolean {
        if (mark.run(args).changes === 0) return false;
        collect(args.owner, args.limit);
        return true;
      },
      /** Removes rows of removed responses, at most `limit`. Returns how many. */
      collect: ({ limit }: { limit: number }): number => collect(null, limit),
    },
    rebuilds: {},
  };
}

interface ChainRead {
  /** The last response of the chain. */
  seq: number;
  /** The item after which the read begins. */
  after: number;
  order: "asc" | "desc";
  /** False leaves out the output of the last response. */
  withOutput: boolean;
}

/**
 * The items of a chain in their order. All items of a response are older than those of the responses that continue it: they are
 * read response by response, and no further than the page goes.
 */
function chainItems(db: Database): (read: ChainRead) => Generator<ItemRow> {
  const links = db.prepare<{ seq: number }, number>(`${CHAIN} SELECT seq FROM chain`).pluck();
  const responseOf = db
    .prepare<{ after: number }, number>("SELECT response FROM response_items WHERE seq = @after")
    .pluck();
  const own = (order: "ASC" | "DESC") =>
    db.prepare<{ response: number; after: number; withOutput: 0 | 1 }, ItemRow>(
      `SELECT seq, id, item FROM response_items
       WHERE response = @response AND seq ${order === "ASC" ? ">" : "<"} @after AND (@withOutput = 1 OR output = 0)
       ORDER BY seq ${order}`,
    );
  const lists = { asc: own("ASC"), desc: own("DESC") };
  return function* ({ seq, after, order, withOutput }) {
    const responses = links.all({ seq });
    if (order === "asc") responses.reverse();
    const from = responses.indexOf(responseOf.get({ after }) ?? -1);
    for (const response of responses.slice(Math.max(0, from))) {
      yield* lists[order].iterate({ response, after, withOutput: withOutput || response !== seq ? 1 : 0 });
    }
  };
}

function reads(db: Database) {
  const chain = chainItems(db);
  const place = db.prepare<{ seq: number; owner: string; id: string }, { seq: number }>(
    `${CHAIN} SELECT i.seq FROM response_items i
     WHERE i.owner = @owner AND i.id = @id AND i.response IN (SELECT seq FROM chain) ORDER BY i.seq DESC LIMIT 1`,
  );
  const output = db.prepare<{ seq: number; after: number }, ItemRow>(
    `SELECT seq, id, item FROM response_items WHERE response = @seq AND seq > @after AND output = 1 ORDER BY seq`,
  );
  const byId = db.prepare<{ owner: string; id: string }, NewItem>(
    `SELECT i.id, i.item FROM response_items i JOIN responses r ON r.seq = i.response
     WHERE i.owner = @owner AND i.id = @id AND r.removed_at IS NULL ORDER BY i.output DESC, i.seq DESC LIMIT 1`,
  );
  const inConversation = db.prepare<{ owner: string; id: string }, NewItem>(
    `SELECT i.id, i.item FROM conversation_items i JOIN conversations c ON c.seq = i.conversation
     WHERE i.owner = @owner AND i.id = @id AND c.removed_at IS NULL ORDER BY i.seq DESC LIMIT 1`,
  );
  const list = db.prepare<{ owner: string; after: number; limit: number }, ResponseRow>(
    `SELECT ${RESPONSE.select} FROM responses WHERE owner = @owner AND seq > @after AND removed_at IS NULL
     ORDER BY seq LIMIT @limit`,
  );

  return {
    /** Items of the chain that ends with this response, as much as one read may return; `after` is an item's `seq`. */
    chain(args: ChainRead & { limit: number }) {
      return boundedRead(chain(args), ({ item }) => item.length, args.limit);
    },
    /** The position of an item in a chain; null where it is not in it. */
    place: (args: { seq: number; owner: string; id: string }): number | null => place.get(args)?.seq ?? null,
    /** Output items of this response, as much as one read may return. */
    output(args: { seq: number; after: number }): { rows: ItemRow[]; more: boolean } {
      return boundedRead(output.iterate(args), ({ item }) => item.length);
    },
    /** The owner's items with these ids, of responses and conversations; unknown ones are left out. */
    items({ owner, ids }: { owner: string; ids: readonly string[] }): NewItem[] {
      return ids.flatMap((id) => byId.get({ owner, id }) ?? inConversation.get({ owner, id }) ?? []);
    },
    /** The owner's responses, oldest first, as many as one read may return. */
    list(args: { owner: string; after: number; limit: number }): Exclude<Page<ResponseRow>, string> {
      const { rows, more } = boundedRead(list.iterate(args), ({ object }) => object.length);
      return { rows, hasMore: more || rows.length === args.limit };
    },
  };
}

/** Inserts a response with its items, and appends both to its conversation unless it failed, in the transaction of the caller. */
export function responseKeeping(db: Database): (args: NewResponse) => Keeping {
  const isErased = erasedKeyOf(db);
  const refusal = answerRefusal(db);
  const append = conversationAppending(db);
  type Insertion = NewResponse["row"] &
    Pick<ResponseRow, "owner" | "depth" | "chainItems" | "chainBytes"> & { parent: number | null; bytes: number };
  const insert = db.prepare<Insertion, { seq: number }>(
    `INSERT INTO responses (id, owner, model, status, background, conversation, parent, depth, chain_items, chain_bytes,
       object, bytes, created_at)
     VALUES (@id, @owner, @model, @status, @background, @conversation, @parent, @depth, @chainItems, @chainBytes,
       @object, @bytes, @createdAt) RETURNING seq`,
  );
  // One that was removed meanwhile can be continued as long as another response keeps it.
  const find = db.prepare<{ owner: string; id: string }, ResponseRow>(
    `SELECT ${RESPONSE.select} FROM responses WHERE id = @id AND owner = @owner`,
  );
  const insertItem = responseItemInsertion(db);
  const insertStream = streamInsertion(db);

  return ({ owner, keyId, bounds, row, parent: parentId, input, output, stream }) => {
    if (isErased(keyId)) return "erased";
    const parent = parentId === null ? null : find.get({ owner, id: parentId });
    if (parent === undefined) return "absent_parent";
    const depth = (parent?.depth ?? 0) + 1;
    if (depth > MOST_CHAINED) return "chain_too_long";
    const items = [...input, ...output];
    const ownBytes = itemBytes(items);
    const bytes = MIN_ANSWER_BYTES + Buffer.byteLength(row.object) + ownBytes;
    const conversation = row.status === "completed" || row.status === "incomplete" ? row.conversation : null;
    const appended = conversation === null ? 0 : ownBytes;
    const refused = refusal(owner, { answers: 1, bytes: bytes + appended }, bounds);
    if (refused !== null) return refused;
    if (conversation !== null) {
      const outcome = append(owner, conversation, items);
      if (outcome !== "appended") return outcome === "absent" ? "absent_conversation" : outcome;
    }
    const chainItems = (parent?.chainItems ?? 0) + items.length;
    const chainBytes = (parent?.chainBytes ?? 0) + ownBytes;
    const { seq } = insert.get({ ...row, owner, parent: parent?.seq ?? null, depth, chainItems, chainBytes, bytes })!;
    for (const item of input) insertItem.run({ response: seq, output: 0, owner, ...item });
    for (const item of output) insertItem.run({ response: seq, output: 1, owner, ...item });
    if (stream !== undefined) insertStream({ response: seq, ...stream });
    return "kept";
  };
}

/** Inserts an item of a response, in the transaction of the caller. */
export function responseItemInsertion(db: Database) {
  return db.prepare<NewItem & { response: number; owner: string; output: 0 | 1 }>(
    `INSERT INTO response_items (response, output, owner, id, item) VALUES (@response, @output, @owner, @id, @item)`,
  );
}
