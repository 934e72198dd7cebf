import type { Database } from "better-sqlite3";
import { type NewItem, type NewSaid, RESPONSE, type ResponseRow, type ResponseStatus } from "../types/answer-rows.ts";
import { conversationAppending, itemBytes } from "./answers/conversations.ts";
import { saying } from "./answers/response-streams.ts";
import { responseItemInsertion } from "./answers/responses.ts";
import { eventInsertion, type NewEvent } from "./outbox.ts";

/** The end of a background response that has no answer. */
export interface Unanswered {
  id: string;
  status: Extract<ResponseStatus, "failed" | "cancelled">;
  /** JSON: `{code, message}`; null for a cancelled response. */
  error: string | null;
  events: readonly NewEvent[];
}

/** The end of a background response with its answer. */
export interface Answered {
  id: string;
  owner: string;
  status: Extract<ResponseStatus, "completed" | "incomplete">;
  /** The response as answered, with an empty `output`. */
  object: string;
  output: readonly NewItem[];
  /** The last outputs of a stream; null for none. */
  said: NewSaid | null;
  events: readonly NewEvent[];
}

/**
 * "closed": the response was ended or removed before. The others are conversations that its items were to be added to: then
 * nothing is stored.
 */
export type Answering = "answered" | "closed" | "absent_conversation" | "too_many_items";

/** A background response that has not ended. */
const OPEN = "id = @id AND background = 1 AND status IN ('queued', 'in_progress') AND removed_at IS NULL";

/** Ends a background response without an answer, in the transaction of the caller. False unless it was open. */
export function unansweredEnd(db: Database): (end: Unanswered) => boolean {
  const find = db.prepare<{ id: string }, { object: string }>(`SELECT object FROM responses WHERE ${OPEN}`);
  const finish = finishing(db);
  const insertEvents = eventInsertion(db);
  return ({ id, status, error, events }) => {
    const row = find.get({ id });
    if (row === undefined) return false;
    const fault: unknown = error === null ? null : JSON.parse(error);
    const object = JSON.stringify({ ...JSON.parse(row.object), status, error: fault });
    finish.run({ id, status, object, items: 0, itemBytes: 0 });
    insertEvents(events);
    return true;
  };
}

/** The life of background responses after their creation, which is that of their batch. */
export function background(db: Database) {
  const insertItem = responseItemInsertion(db);
  const append = conversationAppending(db);
  const input = db.prepare<{ seq: number }, NewItem>(
    "SELECT id, item FROM response_items WHERE response = @seq AND output = 0 ORDER BY seq",
  );
  const insertEvents = eventInsertion(db);
  const finish = finishing(db);
  const say = saying(db);
  const begin = db.prepare<{ id: string; owner: string }>(
    "UPDATE responses SET status = 'in_progress' WHERE id = @id AND owner = @owner AND background = 1 AND status = 'queued'",
  );
  const find = db.prepare<{ id: string; owner: string }, ResponseRow>(
    `SELECT ${RESPONSE.select} FROM responses WHERE ${OPEN} AND owner = @owner`,
  );

  return {
    reads: {},
    writes: {
      /** queued → in_progress. False for a response in another status. */
      begin: (args: { id: string; owner: string }): boolean => begin.run(args).changes === 1,
      /**
       * Stores the answer with the events of the end, and appends its items to its conversation. Its storage was admitted when
       * it was created: the answer may exceed the quota of its owner, which then refuses the next one.
       */
      answered({ output, said, events, ...end }: Answered): Answering {
        const row = find.get(end);
        if (row === undefined) return "closed";
        const items = row.conversation === null ? [] : [...input.all({ seq: row.seq }), ...output];
        const appended = row.conversation === null ? "appended" : append(end.owner, row.conversation, items);
        if (appended === "absent") return "absent_conversation";
        if (appended === "too_many_items") return appended;
        if (said !== null) say({ id: end.id, ...said });
        const { id, owner, status, object } = end;
        finish.run({ id, status, object, items: output.length, itemBytes: itemBytes(output) });
        for (const item of output) insertItem.run({ response: row.seq, output: 1, owner, ...item });
        insertEvents(events);
        return "answered";
      },
      unanswered: unansweredEnd(db),
    },
    rebuilds: {},
  };
}

function finishing(db: Database) {
  return db.prepare<{ id: string; status: string; object: string; items: number; itemBytes: number }>(
    `UPDATE responses SET status = @status, object = @object, chain_items = chain_items + @items,
       chain_bytes = chain_bytes + @itemBytes,
       bytes = bytes + @itemBytes + octet_length(@object) - octet_length(object) WHERE ${OPEN}`,
  );
}
