import type { Database } from "better-sqlite3";
import { columns } from "../types/columns.ts";

/** The limits of one replica; see schema/017-replica-limits.ts. */
export interface ReplicaLimitsRow {
  upstream: string;
  /** Its base URL. */
  replica: string;
  alone: number;
  beside: number;
  /** Unix seconds. */
  writtenAt: number;
}

const LIMITS = columns<ReplicaLimitsRow>(["upstream", "replica", "alone", "beside", "writtenAt"]);

export function replicaLimits(db: Database) {
  const all = db.prepare<[], ReplicaLimitsRow>(`SELECT ${LIMITS.select} FROM replica_limits`);
  const clear = db.prepare("DELETE FROM replica_limits");
  const insert = db.prepare<ReplicaLimitsRow>(`INSERT INTO replica_limits (${LIMITS.names}) VALUES (${LIMITS.values})`);
  return {
    reads: {
      all: (): ReplicaLimitsRow[] => all.all(),
    },
    writes: {
      /** Replaces all rows by those of the configured replicas. */
      replace({ rows }: { rows: readonly ReplicaLimitsRow[] }): void {
        clear.run();
        for (const row of rows) insert.run(row);
      },
    },
    rebuilds: {},
  };
}
