import type { Database } from "better-sqlite3";
import { COMPLETION, type CompletionRow, type NewCompletion } from "../../types/answer-rows.ts";
import { boundedRead } from "../../types/bounded-read.ts";
import type { Page } from "../../types/cursor-page.ts";
import { erasedKeyOf } from "../../types/erased-key.ts";
import { answerRefusal, MIN_ANSWER_BYTES, type Refusal } from "../../types/storage.ts";

export interface CompletionList {
  owner: string;
  /** Null for all. */
  model: string | null;
  /** Pairs of metadata that a completion must have; none for all. */
  metadata: readonly (readonly [string, string])[];
  /** Id of the last completion of the previous page, which may have been removed. */
  after: string | null;
  limit: number;
  order: "asc" | "desc";
}

interface Listing {
  owner: string;
  model: string | null;
  name: string | null;
  value: string | null;
  /** Pairs beyond the first, as JSON. */
  others: string;
  after: number;
}

/** A completion without one of the further pairs. */
const LACKING = `SELECT 1 FROM json_each(@others) WHERE NOT EXISTS (SELECT 1 FROM completion_metadata x
    WHERE x.owner = @owner AND x.name = json_each.value ->> 0 AND x.value = json_each.value ->> 1 AND x.completion = c.seq)`;

/** Stored chat completions with the messages of their requests. */
export function completions(db: Database) {
  const insert = insertion(db);
  const list = listing(db);
  const get = db.prepare<{ owner: string; id: string }, CompletionRow>(
    `SELECT ${COMPLETION.select} FROM completions WHERE id = @id AND owner = @owner`,
  );
  const messages = db.prepare<{ owner: string; id: string }, { messages: string }>(
    "SELECT messages FROM completions WHERE id = @id AND owner = @owner",
  );
  const withMessages = db.prepare<{ owner: string; after: number }, CompletionRow & { messages: string }>(
    `SELECT ${COMPLETION.select}, messages FROM completions WHERE owner = @owner AND seq > @after ORDER BY seq`,
  );
  const setMetadata = db.prepare<{ owner: string; id: string; metadata: string }, CompletionRow>(
    `UPDATE completions SET metadata = @metadata, bytes = bytes + octet_length(@metadata) - octet_length(metadata)
     WHERE id = @id AND owner = @owner RETURNING ${COMPLETION.select}`,
  );
  const removePairs = db.prepare<{ completion: number }>(
    "DELETE FROM completion_metadata WHERE completion = @completion",
  );
  const insertPairs = pairInsertion(db);
  const remove = db.prepare<{ owner: string; id: string }>("DELETE FROM completions WHERE id = @id AND owner = @owner");
  const forget = db.prepare<{ before: number; limit: number }>(
    `DELETE FROM removed_completions WHERE id IN
       (SELECT id FROM removed_completions WHERE removed_at < @before ORDER BY removed_at LIMIT @limit)`,
  );

  return {
    reads: {
      get: (args: { owner: string; id: string }): CompletionRow | null => get.get(args) ?? null,
      /** The messages of the request, as JSON; null for an unknown completion. */
      messages: (args: { owner: string; id: string }): string | null => messages.get(args)?.messages ?? null,
      list,
      /** Completions with their messages, oldest first, as many as one read may return. */
      export(args: { owner: string; after: number }): {
        rows: (CompletionRow & { messages: string })[];
        more: boolean;
      } {
        return boundedRead(withMessages.iterate(args), (row) => row.object.length + row.messages.length);
      },
    },
    writes: {
      insert,
      /** Replaces the metadata; null for an unknown completion. */
      setMetadata(args: {
        owner: string;
        id: string;
        metadata: Readonly<Record<string, string>>;
      }): CompletionRow | null {
        const row = setMetadata.get({ ...args, metadata: JSON.stringify(args.metadata) });
        if (row === undefined) return null;
        removePairs.run({ completion: row.seq });
        insertPairs(args.owner, row.seq, args.metadata);
        return row;
      },
      remove: (args: { owner: string; id: string }): boolean => remove.run(args).changes === 1,
      /** Removes list positions of completions removed before `before` (Unix seconds). Returns how many. */
      forgetRemoved: (args: { before: number; limit: number }): number => forget.run(args).changes,
    },
    rebuilds: {},
  };
}

function insertion(db: Database): (args: NewCompletion) => "inserted" | Refusal | "erased" {
  const isErased = erasedKeyOf(db);
  const refusal = answerRefusal(db);
  const insertPairs = pairInsertion(db);
  const insert = db.prepare<
    NewCompletion["row"] & { owner: string; metadata: string; messages: string; bytes: number },
    { seq: number }
  >(
    `INSERT INTO completions (id, owner, model, metadata, object, messages, bytes, created_at)
     VALUES (@id, @owner, @model, @metadata, @object, @messages, @bytes, @createdAt) RETURNING seq`,
  );
  return ({ owner, keyId, bounds, row, metadata, messages }) => {
    if (isErased(keyId)) return "erased";
    const pairs = JSON.stringify(metadata);
    const texts = [row.object, messages, pairs];
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), MIN_ANSWER_BYTES);
    const refused = refusal(owner, { answers: 1, bytes }, bounds);
    if (refused !== null) return refused;
    const { seq } = insert.get({ ...row, owner, metadata: pairs, messages, bytes })!;
    insertPairs(owner, seq, metadata);
    return "inserted";
  };
}

function pairInsertion(db: Database) {
  const insert = db.prepare<{ owner: string; name: string; value: string; completion: number }>(
    "INSERT INTO completion_metadata VALUES (@owner, @name, @value, @completion)",
  );
  return (owner: string, completion: number, metadata: Readonly<Record<string, string>>) => {
    for (const [name, value] of Object.entries(metadata)) insert.run({ owner, name, value, completion });
  };
}

/** The list by owner; the index of the first pair is used where there is one, else that of the model. */
function listing(db: Database): (args: CompletionList) => Page<CompletionRow> {
  const seqOf = db.prepare<{ owner: string; id: string }, { seq: number }>(
    `SELECT seq FROM completions WHERE id = @id AND owner = @owner
     UNION ALL SELECT seq FROM removed_completions WHERE id = @id AND owner = @owner LIMIT 1`,
  );
  const statement = (condition: string, order: "ASC" | "DESC") =>
    db.prepare<Listing, CompletionRow>(
      `SELECT ${COMPLETION.select} FROM completions c
       WHERE owner = @owner ${condition} AND seq ${order === "ASC" ? ">" : "<"} @after ORDER BY seq ${order}`,
    );
  const labelled = (order: "ASC" | "DESC") =>
    db.prepare<Listing, CompletionRow>(
      `SELECT ${COMPLETION.select} FROM (SELECT completion FROM completion_metadata
         WHERE owner = @owner AND name = @name AND value = @value AND completion ${order === "ASC" ? ">" : "<"} @after) m
       CROSS JOIN completions c ON c.seq = m.completion
       WHERE (@model IS NULL OR c.model = @model) AND NOT EXISTS (${LACKING})
       ORDER BY m.completion ${order}`,
    );
  const by = (order: "ASC" | "DESC") => ({
    all: statement("", order),
    model: statement("AND model = @model", order),
    metadata: labelled(order),
  });
  const lists = { asc: by("ASC"), desc: by("DESC") };
  return ({ owner, model, metadata, after: cursor, limit, order }) => {
    const from = cursor === null ? undefined : seqOf.get({ owner, id: cursor });
    if (cursor !== null && from === undefined) return "unknown_cursor";
    const after = from?.seq ?? (order === "asc" ? 0 : Number.MAX_SAFE_INTEGER);
    const [[name, value] = [null, null], ...others] = metadata;
    const kind = name !== null ? "metadata" : model !== null ? "model" : "all";
    const found = lists[order][kind].iterate({ owner, model, name, value, others: JSON.stringify(others), after });
    const { rows, more } = boundedRead(found, ({ object }) => object.length, limit);
    return { rows, hasMore: more };
  };
}
