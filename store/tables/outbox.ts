import type { Database } from "better-sqlite3";
import { columns } from "../types/columns.ts";

/** One event for one webhook endpoint; `id` is the event's (evt_…) and the same for all endpoints. */
export interface OutboxRow {
  id: string;
  endpointUrl: string;
  type: string;
  /** The exact bytes that are signed and sent. */
  payload: string;
  attempts: number;
  nextAtMs: number;
  state: "pending" | "delivered" | "dead";
  lastError: string | null;
  createdAt: number;
}

/** What a terminal transition queues together with itself. */
export type NewEvent = Pick<OutboxRow, "id" | "endpointUrl" | "type" | "payload" | "createdAt" | "nextAtMs">;

interface DeliveryKey {
  id: string;
  endpointUrl: string;
}

const OUTBOX = columns<OutboxRow>([
  "id",
  "endpointUrl",
  "type",
  "payload",
  "attempts",
  "nextAtMs",
  "state",
  "lastError",
  "createdAt",
]);

/** Inserts event rows; terminal batch transitions use it inside their own operation. */
export function eventInsertion(db: Database): (events: readonly NewEvent[]) => void {
  const insert = db.prepare<NewEvent>(`INSERT INTO outbox (id, endpoint_url, type, payload, created_at, next_at_ms)
    VALUES (@id, @endpointUrl, @type, @payload, @createdAt, @nextAtMs)`);
  return (events) => {
    for (const event of events) insert.run(event);
  };
}

export function outbox(db: Database) {
  const insertEvents = eventInsertion(db);
  const nextEndpoint = db.prepare<{ after: string }, { url: string | null }>(
    "SELECT min(endpoint_url) AS url FROM outbox WHERE state = 'pending' AND endpoint_url > @after",
  );
  const due = db.prepare<{ url: string; nowMs: number; limit: number }, OutboxRow>(
    `SELECT ${OUTBOX.select} FROM outbox WHERE endpoint_url = @url AND state = 'pending' AND next_at_ms <= @nowMs
     ORDER BY next_at_ms LIMIT @limit`,
  );
  const nextAt = db.prepare<{ url: string }, { at: number | null }>(
    "SELECT min(next_at_ms) AS at FROM outbox WHERE endpoint_url = @url AND state = 'pending'",
  );
  const endLongWaits = db.prepare<{ url: string; nowMs: number; longestMs: string; last: number }>(
    `UPDATE outbox SET next_at_ms = @nowMs
     WHERE endpoint_url = @url AND state = 'pending' AND next_at_ms > @nowMs
       AND next_at_ms > @nowMs + json_extract(@longestMs, '$[' || min(attempts, CAST(@last AS INTEGER)) || ']')`,
  );
  const settle = db.prepare<DeliveryKey & { state: string; error: string | null }>(
    `UPDATE outbox SET state = @state, attempts = attempts + 1, last_error = @error
     WHERE id = @id AND endpoint_url = @endpointUrl AND state = 'pending'`,
  );
  const retry = db.prepare<DeliveryKey & { nextAtMs: number; error: string }>(
    `UPDATE outbox SET attempts = attempts + 1, next_at_ms = @nextAtMs, last_error = @error
     WHERE id = @id AND endpoint_url = @endpointUrl AND state = 'pending'`,
  );
  const disable = db.prepare<{ endpointUrl: string; error: string; limit: number }>(
    `UPDATE outbox SET state = 'dead', last_error = @error WHERE (id, endpoint_url) IN
       (SELECT id, endpoint_url FROM outbox WHERE endpoint_url = @endpointUrl AND state = 'pending' LIMIT @limit)`,
  );
  const remove = db.prepare<{ before: number; limit: number }>(
    `DELETE FROM outbox WHERE (id, endpoint_url) IN
       (SELECT id, endpoint_url FROM outbox WHERE state <> 'pending' AND created_at < @before LIMIT @limit)`,
  );

  /** Those that something waits for. */
  function* endpoints(): Generator<string> {
    for (let url = nextEndpoint.get({ after: "" })?.url; url != null; url = nextEndpoint.get({ after: url })?.url)
      yield url;
  }

  return {
    reads: {
      /** Rows whose time has come, of each endpoint at most `limit`, the longest due first. */
      due: (args: { nowMs: number; limit: number }): OutboxRow[] =>
        [...endpoints()].flatMap((url) => due.all({ url, ...args })),
      /** When the next pending row is due, Unix milliseconds; null when nothing waits. */
      nextAtMs(): number | null {
        const times = [...endpoints()].flatMap((url) => nextAt.get({ url })?.at ?? []);
        return times.length === 0 ? null : Math.min(...times);
      },
    },
    writes: {
      insert: ({ events }: { events: NewEvent[] }): void => insertEvents(events),
      delivered: (key: DeliveryKey): void => void settle.run({ ...key, state: "delivered", error: null }),
      /** Given up for good; kept for people to look at until `removeOld`. */
      dead: (args: DeliveryKey & { error: string }): void => void settle.run({ ...args, state: "dead" }),
      retry: (args: DeliveryKey & { nextAtMs: number; error: string }): void => void retry.run(args),
      /**
       * Makes due what waits for longer than it may after so many attempts; the last of `longestMs` stands for all that
       * follow. It reads all that waits: for the start, and for a wall clock that was set back.
       */
      endLongWaits({ nowMs, longestMs }: { nowMs: number; longestMs: readonly number[] }): number {
        const bounds = { nowMs, longestMs: JSON.stringify(longestMs), last: longestMs.length - 1 };
        return [...endpoints()].reduce((sum, url) => sum + endLongWaits.run({ url, ...bounds }).changes, 0);
      },
      /** After 410 Gone: what waits for the endpoint is dead, up to `limit` rows. Returns how many; call again until 0. */
      disableEndpoint: (args: { endpointUrl: string; error: string; limit: number }): number =>
        disable.run(args).changes,
      /** Removes rows that are settled and older than `before` (Unix seconds). Returns how many. */
      removeOld: (args: { before: number; limit: number }): number => remove.run(args).changes,
    },
    rebuilds: {},
  };
}
