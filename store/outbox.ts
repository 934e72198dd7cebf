import type { Database } from "better-sqlite3";
import { columns } from "./columns.ts";

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
  const due = db.prepare<{ nowMs: number; limit: number }, OutboxRow>(
    `SELECT ${OUTBOX.select} FROM outbox WHERE state = 'pending' AND next_at_ms <= @nowMs
     ORDER BY next_at_ms LIMIT @limit`,
  );
  const nextAt = db.prepare<[], { at: number | null }>(
    "SELECT min(next_at_ms) AS at FROM outbox WHERE state = 'pending'",
  );
  const counts = db.prepare<[], { state: OutboxRow["state"]; count: number }>(
    "SELECT state, count(*) AS count FROM outbox GROUP BY state",
  );
  const settle = db.prepare<DeliveryKey & { state: string; error: string | null }>(
    `UPDATE outbox SET state = @state, attempts = attempts + 1, last_error = @error
     WHERE id = @id AND endpoint_url = @endpointUrl AND state = 'pending'`,
  );
  const retry = db.prepare<DeliveryKey & { nextAtMs: number; error: string }>(
    `UPDATE outbox SET attempts = attempts + 1, next_at_ms = @nextAtMs, last_error = @error
     WHERE id = @id AND endpoint_url = @endpointUrl AND state = 'pending'`,
  );
  const disable = db.prepare<{ endpointUrl: string; error: string }>(
    `UPDATE outbox SET state = 'dead', last_error = @error WHERE endpoint_url = @endpointUrl AND state = 'pending'`,
  );
  const remove = db.prepare<{ before: number; limit: number }>(
    `DELETE FROM outbox WHERE (id, endpoint_url) IN
       (SELECT id, endpoint_url FROM outbox WHERE state != 'pending' AND created_at < @before LIMIT @limit)`,
  );

  return {
    reads: {
      /** Rows whose time has come, the longest due first. */
      due: (args: { nowMs: number; limit: number }): OutboxRow[] => due.all(args),
      /** When the next pending row is due, Unix milliseconds; null when nothing waits. */
      nextAtMs: (): number | null => nextAt.get()?.at ?? null,
      counts: () => counts.all(),
    },
    writes: {
      insert: ({ events }: { events: NewEvent[] }): void => insertEvents(events),
      delivered: (key: DeliveryKey): void => void settle.run({ ...key, state: "delivered", error: null }),
      /** Given up for good; kept for people to look at until `removeOld`. */
      dead: (args: DeliveryKey & { error: string }): void => void settle.run({ ...args, state: "dead" }),
      retry: (args: DeliveryKey & { nextAtMs: number; error: string }): void => void retry.run(args),
      /** After 410 Gone: all that waits for the endpoint is dead. Returns how many rows. */
      disableEndpoint: (args: { endpointUrl: string; error: string }): number => disable.run(args).changes,
      /** Removes rows that are settled and older than `before` (Unix seconds). Returns how many. */
      removeOld: (args: { before: number; limit: number }): number => remove.run(args).changes,
    },
    rebuilds: {},
  };
}
