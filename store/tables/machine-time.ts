import type { Database } from "better-sqlite3";
import type { LedgerTier } from "./ledger.ts";

/** To whom busy time is attributed. */
export interface MachineAccount {
  model: string;
  endpoint: string;
  tier: LedgerTier;
}

export interface BusyTime extends MachineAccount {
  /** Whole microseconds. */
  busyUs: number;
}

/** Machine time of an interval, to be added to its hour. */
export interface MachineInterval {
  /** Unix seconds. */
  now: number;
  /** Length of the interval in whole microseconds. */
  upUs: number;
  busy: BusyTime[];
}

/** Hours that begin in [start, end), summed by bucket like the ledger. */
export interface MachineQuery {
  /** Unix seconds. */
  start: number;
  end: number;
  /** Seconds; whole hours. */
  width: number;
}

export interface MachineSums {
  /** Sorted by bucket (its start); empty buckets are left out. */
  busy: (BusyTime & { bucket: number })[];
  up: { bucket: number; upUs: number }[];
}

const HOUR = 3600;

/** Attribution of machine time; see schema/006-machine-time.ts. */
export function machine(db: Database) {
  const addBusy = db.prepare<BusyTime & { hour: number }>(
    `INSERT INTO machine_time (hour, model, endpoint, tier, busy_us) VALUES (@hour, @model, @endpoint, @tier, @busyUs)
     ON CONFLICT DO UPDATE SET busy_us = busy_us + excluded.busy_us`,
  );
  const addUp = db.prepare<{ hour: number; upUs: number }>(
    `INSERT INTO machine_hours (hour, up_us) VALUES (@hour, @upUs)
     ON CONFLICT DO UPDATE SET up_us = up_us + excluded.up_us`,
  );
  const busy = db.prepare<MachineQuery, MachineSums["busy"][number]>(
    `SELECT hour - hour % @width AS bucket, model, endpoint, tier, sum(busy_us) AS busyUs
     FROM machine_time WHERE hour >= @start AND hour < @end GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`,
  );
  const up = db.prepare<MachineQuery, MachineSums["up"][number]>(
    `SELECT hour - hour % @width AS bucket, sum(up_us) AS upUs
     FROM machine_hours WHERE hour >= @start AND hour < @end GROUP BY 1 ORDER BY 1`,
  );

  return {
    reads: {},
    reports: {
      sums({ start, end, width }: MachineQuery): MachineSums {
        const query = { start, end, width };
        return { busy: busy.all(query), up: up.all(query) };
      },
    },
    writes: {
      /** Adds an interval in one transaction. */
      add({ now, upUs, busy }: MachineInterval): void {
        const hour = now - (now % HOUR);
        addUp.run({ hour, upUs });
        for (const time of busy) addBusy.run({ ...time, hour });
      },
    },
    rebuilds: {},
  };
}
