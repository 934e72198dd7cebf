import type { Database } from "better-sqlite3";
import { completions } from "./answers/completions.ts";
import { conversations } from "./answers/conversations.ts";
import { responseStreams } from "./answers/response-streams.ts";
import { responses } from "./answers/responses.ts";
import { background } from "./background.ts";
import { batches } from "./batches.ts";
import { budgets } from "./budgets.ts";
import { claims } from "./claims.ts";
import { erasures } from "./erasures.ts";
import { files } from "./files.ts";
import { keys } from "./keys.ts";
import { ledger } from "./ledger.ts";
import { lines } from "./lines.ts";
import { machine } from "./machine-time.ts";
import { outbox } from "./outbox.ts";
import { replicaLimits } from "./replica-limits.ts";
import { results } from "./results.ts";
import { retention } from "./retention.ts";
import { uploads } from "./uploads.ts";
import { usage } from "./usage.ts";

/**
 * All operations, prepared on one connection.
 *
 * | kind | runs on | durable when it resolves |
 * |---|---|---|
 * | reads | the reading connection, on committed data | – |
 * | reports | their own connection and thread, as they may read much and must not delay durable writes | – |
 * | writes | the writing connection | yes, also through a power cut |
 * | rebuilds | the writing connection | through the end of the process; the next start redoes what a power cut loses |
 */
export function tables(db: Database) {
  return {
    files: files(db),
    uploads: uploads(db),
    batches: batches(db),
    lines: lines(db),
    claims: claims(db),
    results: results(db),
    responses: responses(db),
    responseStreams: responseStreams(db),
    background: background(db),
    conversations: conversations(db),
    completions: completions(db),
    keys: keys(db),
    ledger: ledger(db),
    usage: usage(db),
    machine: machine(db),
    replicaLimits: replicaLimits(db),
    budgets: budgets(db),
    outbox: outbox(db),
    retention: retention(db),
    erasures: erasures(db),
  };
}

export type Tables = ReturnType<typeof tables>;

type Asynchronous<T> = {
  [K in keyof T]: T[K] extends (...args: infer A) => infer R ? (...args: A) => Promise<R> : never;
};

/** The operations as the server sees them: `store.files.get({…})` and the like, each returning a promise. */
export type Operations = {
  [T in keyof Tables]: Asynchronous<Tables[T]["reads"]> &
    Asynchronous<Tables[T]["writes"]> &
    Asynchronous<Tables[T]["rebuilds"]> &
    (Tables[T] extends { reports: infer Reports } ? Asynchronous<Reports> : unknown);
};

export type Operation = (...args: readonly unknown[]) => unknown;

/** The operations of one kind, by `table.name`. */
export function operationsOf(all: Tables, kind: "reads" | "reports" | "writes" | "rebuilds"): Map<string, Operation> {
  const kinds: Record<string, { [K in typeof kind]?: object }> = all;
  return new Map(
    Object.entries(kinds).flatMap(([table, { [kind]: some = {} }]) =>
      Object.entries(some).map(([name, operation]) => [`${table}.${name}`, operation as Operation] as const),
    ),
  );
}
