import type { Database } from "better-sqlite3";
import { columns } from "../types/columns.ts";

/** One event for one webhook endpoint; `id` is the event's (evt_…), the same for all endpoints. */
export interface OutboxRow {
  id: string;
  endpointUrl: string;
  type: string;
  /** The exact text that is signed and sent. */
  payload: string;
  attempts: number;
  nextAtMs: number;
  state: "pending" | "delivered" | "dead";
  lastError: string | null;
  createdAt: number;
}

/** An event that is queued in the transaction of its cause. */
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

/** Inserts event rows; other tables use it within their operations. */
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
  const endExcessiveWaits = db.prepare<{ url: string; nowMs: number; longestMs: string; last: number }>(
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

  /** URLs with pending events. */
  function* endpoints(): Generator<string> {
    for (let url = nextEndpoint.get({ after: "" })?.url; url != null; url = nextEndpoint.get({ after: url })?.url)
      yield url;
  }

  return {
    reads: {
      /** Due rows, at most `limit` of each endpoint, the longest overdue first. */
      due: (args: { nowMs: number; limit: number }): OutboxRow[] =>
        [...endpoints()].flatMap((url) => due.all({ url, ...args })),
      /** Time at which the next pending row is due, Unix milliseconds; null without one. */
      nextAtMs(): number | null {
        const times = [...endpoints()].flatMap((url) => nextAt.get({ url })?.at ?? []);
        return times.length === 0 ? null : Math.min(...times);
      },
    },
    writes: {
      insert: ({ events }: { events: NewEvent[] }): void => insertEvents(events),
      delivered: (key: DeliveryKey): void => void settle.run({ ...key, state: "delivered", error: null }),
      /** Marks an event as dead; its row stays for inspection until `removeOld`. */
      dead: (args: DeliveryKey & { error: string }): void => void settle.run({ ...args, state: "dead" }),
      retry: (args: DeliveryKey & { nextAtMs: number; error: string }): void => void retry.run(args),
      /**
       * Makes rows due whose wait exceeds the longest backoff of their attempt; the last entry of `longestMs` is for
       * all further attempts. It reads all pending rows, and is for the start and for a wall clock that was set back.
       */
      endExcessiveWaits({ nowMs, longestMs }: { nowMs: number; longestMs: readonly number[] }): number {
        const bounds = { nowMs, longestMs: JSON.stringify(longestMs), last: longestMs.length - 1 };
        return [...endpoints()].reduce((sum, url) => sum + endExcessiveWaits.run({ url, ...bounds }).changes, 0);
      },
      /**
       * After 410 Gone: marks up to `limit` pending rows of the endpoint as dead. Returns how many; call again until 0.
       */
      disableEndpoint: (args: { endpointUrl: string; error: string; limit: number }): number =>
        disable.run(args).changes,
      /** Removes settled rows older than `before` (Unix seconds). Returns how many. */
      removeOld: (args: { before: number; limit: number }): number => remove.run(args).changes,
    },
    rebuilds: {},
  };
}
