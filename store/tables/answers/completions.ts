import type { Database } from "better-sqlite3";
import { COMPLETION, type CompletionRow, type NewCompletion } from "../../types/answer-rows.ts";
import { boundedRead } from "../../types/bounded-read.ts";
import { erasedKeyOf } from "../../types/erased-key.ts";
import { answerRefusal, MIN_ANSWER_BYTES, type Refusal } from "../../types/storage.ts";

/** Entries of metadata that one read visits: a few milliseconds where none of them fits. */
export const VISITED = 2000;
/** Entries up to which those of a pair are counted, for the order in which pairs are read. */
const COUNTED = 1000;

type Pair = readonly [name: string, value: string];

export interface CompletionList {
  owner: string;
  /** Null for all. */
  model: string | null;
  /** Pairs of metadata that a completion must have; none for all. */
  metadata: readonly Pair[];
  /** Id of the last completion of the previous page, which may have been removed. */
  after: string | null;
  limit: number;
  order: "asc" | "desc";
  /** `next` of the previous read of this page; null for the first. */
  from: number | null;
}

/** A part of a page. */
export interface CompletionPart {
  rows: CompletionRow[];
  /** True where further completions are known. */
  more: boolean;
  /** Where the next read of this page goes on; null where the page is complete. */
  next: number | null;
}

interface Listing {
  owner: string;
  model: string | null;
  /** Of the pair with the fewest entries; null without pairs. */
  name: string | null;
  value: string | null;
  /** The other pairs, as JSON. */
  others: string;
  after: number;
  /** The last entry of this pair that is visited; null for all. */
  upTo: number | null;
}

/** A completion without one of the other pairs. */
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

/** The list by owner; the index of the pair with the fewest entries is used where there is one, else that of the model. */
function listing(db: Database): (args: CompletionList) => CompletionPart | "unknown_cursor" {
  const seqOf = db.prepare<{ owner: string; id: string }, { seq: number }>(
    `SELECT seq FROM completions WHERE id = @id AND owner = @owner
     UNION ALL SELECT seq FROM removed_completions WHERE id = @id AND owner = @owner LIMIT 1`,
  );
  const ordered = pairOrder(db);
  const lists = { asc: byOrder(db, "ASC"), desc: byOrder(db, "DESC") };
  return ({ owner, model, metadata, after: cursor, from, limit, order }) => {
    const place = cursor === null || from !== null ? undefined : seqOf.get({ owner, id: cursor });
    if (cursor !== null && from === null && place === undefined) return "unknown_cursor";
    const after = from ?? place?.seq ?? (order === "asc" ? 0 : Number.MAX_SAFE_INTEGER);
    const [[name, value] = [null, null], ...others] = ordered(owner, metadata);
    const by = lists[order];
    const upTo = name === null ? null : (by.lastVisited.get({ owner, name, value, after })?.completion ?? null);
    const list = name !== null ? by.metadata : model !== null ? by.model : by.all;
    const found = list.iterate({ owner, model, name, value, others: JSON.stringify(others), after, upTo });
    const { rows, more } = boundedRead(found, ({ object }) => object.length, limit);
    return { rows, more, next: more ? null : upTo };
  };
}

function byOrder(db: Database, order: "ASC" | "DESC") {
  const beyond = order === "ASC" ? ">" : "<";
  const within = order === "ASC" ? "<=" : ">=";
  const statement = (condition: string) =>
    db.prepare<Listing, CompletionRow>(
      `SELECT ${COMPLETION.select} FROM completions c
       WHERE owner = @owner ${condition} AND seq ${beyond} @after ORDER BY seq ${order}`,
    );
  const entries = `SELECT completion FROM completion_metadata
       WHERE owner = @owner AND name = @name AND value = @value AND completion ${beyond} @after`;
  return {
    all: statement(""),
    model: statement("AND model = @model"),
    metadata: db.prepare<Listing, CompletionRow>(
      `SELECT ${COMPLETION.select} FROM (${entries} AND (@upTo IS NULL OR completion ${within} @upTo)) m
       CROSS JOIN completions c ON c.seq = m.completion
       WHERE (@model IS NULL OR c.model = @model) AND NOT EXISTS (${LACKING})
       ORDER BY m.completion ${order}`,
    ),
    /** The last entry that one read visits; none where fewer are left. */
    lastVisited: db.prepare<Pick<Listing, "owner" | "name" | "value" | "after">, { completion: number }>(
      `${entries} ORDER BY completion ${order} LIMIT 1 OFFSET ${VISITED - 1}`,
    ),
  };
}

/** The pairs, those with the fewest entries first. */
function pairOrder(db: Database): (owner: string, pairs: readonly Pair[]) => readonly Pair[] {
  const count = db.prepare<{ owner: string; name: string; value: string }, { entries: number }>(
    `SELECT count(*) AS entries FROM (SELECT 1 FROM completion_metadata
       WHERE owner = @owner AND name = @name AND value = @value LIMIT ${COUNTED})`,
  );
  return (owner, pairs) => {
    if (pairs.length < 2) return pairs;
    const counted = pairs.map((pair) => ({ pair, ...count.get({ owner, name: pair[0], value: pair[1] })! }));
    return counted.sort((a, b) => a.entries - b.entries).map(({ pair }) => pair);
  };
}
