import type { Database } from "better-sqlite3";
import { type NewSaid, RESPONSE, type ResponseRow, type SaidRow } from "../../types/answer-rows.ts";
import { boundedRead } from "../../types/bounded-read.ts";

/** Events before the first run: the response was created, and queued. */
const FIRST_EVENTS = 2;

/** A response with its stored outputs; `sealed` is null for one whose events are not kept. */
export interface StreamPage {
  row: ResponseRow;
  sealed: 0 | 1 | null;
  rows: SaidRow[];
  more: boolean;
}

const OPEN_STREAM = `SELECT s.response, s.next FROM responses r JOIN response_streams s ON s.response = r.seq
  WHERE r.id = @id AND r.status IN ('queued', 'in_progress') AND r.removed_at IS NULL`;

/** Inserts the stream of a new response, in the transaction of the caller. */
export function streamInsertion(db: Database): (stream: { response: number; sealed: 0 | 1 }) => void {
  const insert = db.prepare<{ response: number; sealed: 0 | 1 }>(
    `INSERT INTO response_streams (response, sealed, next) VALUES (@response, @sealed, ${FIRST_EVENTS})`,
  );
  return (stream) => void insert.run(stream);
}

/** Removes the stream of a response, at most `limit` rows. Returns how many. */
export function streamRemoval(db: Database): (args: { seq: number; limit: number }) => number {
  const removeSaid = db.prepare<{ seq: number; limit: number }>(
    `DELETE FROM response_events WHERE response = @seq AND number IN
       (SELECT number FROM response_events WHERE response = @seq LIMIT @limit)`,
  );
  const remove = db.prepare<{ seq: number }>("DELETE FROM response_streams WHERE response = @seq");
  return ({ seq, limit }) => {
    const removed = removeSaid.run({ seq, limit }).changes;
    return removed === limit ? removed : removed + remove.run({ seq }).changes;
  };
}

/** Adds outputs to the stream of an open response, in the transaction of the caller. False for one that has ended. */
export function saying(db: Database): (args: NewSaid & { id: string }) => boolean {
  const find = db.prepare<{ id: string }, { response: number; next: number }>(OPEN_STREAM);
  const append = appending(db);
  return ({ id, said, events }) => {
    const stream = find.get({ id });
    if (stream === undefined) return false;
    append(stream, said, events);
    return true;
  };
}

/** The events of background responses that were created as streams. */
export function responseStreams(db: Database) {
  const get = db.prepare<{ owner: string; id: string }, ResponseRow>(
    `SELECT ${RESPONSE.select} FROM responses WHERE id = @id AND owner = @owner AND removed_at IS NULL`,
  );
  const streamOf = db.prepare<{ seq: number }, { sealed: 0 | 1 }>(
    "SELECT sealed FROM response_streams WHERE response = @seq",
  );
  const list = db.prepare<{ seq: number; after: number }, SaidRow>(
    "SELECT number, said FROM response_events WHERE response = @seq AND number > @after ORDER BY number",
  );
  const find = db.prepare<{ id: string }, { response: number; next: number }>(OPEN_STREAM);
  const sizeOf = db.prepare<{ response: number }, { bytes: number }>(
    "SELECT coalesce(sum(octet_length(said)), 0) AS bytes FROM response_events WHERE response = @response",
  );
  const clear = db.prepare<{ response: number }>("DELETE FROM response_events WHERE response = @response");
  const shrink = db.prepare<{ response: number; bytes: number }>(
    "UPDATE responses SET bytes = bytes - @bytes WHERE seq = @response",
  );
  const append = appending(db);

  return {
    reads: {
      /** Rows after the one with this number, as many as one read may return. Null for an unknown response. */
      read(args: { owner: string; id: string; after: number }): StreamPage | null {
        const row = get.get(args);
        if (row === undefined) return null;
        const { seq } = row;
        const sealed = streamOf.get({ seq })?.sealed ?? null;
        const read = boundedRead(list.iterate({ seq, after: args.after }), ({ said }) => said?.length ?? 0);
        return { row, sealed, ...read };
      },
    },
    writes: {
      /**
       * Begins a run of an open response: the outputs of an earlier one are removed, as many as an answer has steps at most.
       * False for a response that has ended.
       */
      beginRun({ id }: { id: string }): boolean {
        const stream = find.get({ id });
        if (stream === undefined) return false;
        const { response } = stream;
        shrink.run({ response, bytes: sizeOf.get({ response })?.bytes ?? 0 });
        clear.run({ response });
        append(stream, null, 1);
        return true;
      },
      say: saying(db),
    },
    rebuilds: {},
  };
}

function appending(db: Database) {
  const insert = db.prepare<{ response: number; next: number; said: string | null }>(
    "INSERT INTO response_events (response, number, said) VALUES (@response, @next, @said)",
  );
  const advance = db.prepare<{ response: number; events: number }>(
    "UPDATE response_streams SET next = next + @events WHERE response = @response",
  );
  const grow = db.prepare<{ response: number; said: string }>(
    "UPDATE responses SET bytes = bytes + octet_length(@said) WHERE seq = @response",
  );
  return (stream: { response: number; next: number }, said: string | null, events: number) => {
    const { response } = stream;
    insert.run({ ...stream, said });
    advance.run({ response, events });
    if (said !== null) grow.run({ response, said });
  };
}
