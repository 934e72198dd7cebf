import { dayOf } from "../platform/utc-day.ts";
import type { Store } from "../store/store.ts";
import type { LedgerRow, LedgerTier } from "../store/tables/ledger.ts";
import { StoreError } from "../store/types/store-error.ts";
import type { Prices, TokenCounts } from "./prices.ts";

/** Usage of one request that was answered, in whole or in part. */
export interface Use extends TokenCounts {
  owner: string;
  keyId: string | null;
  endpoint: string;
  model: string;
  version: string;
  tier: LedgerTier;
  /** Part of outputTokens. */
  reasoningTokens: number;
  /** True where an upstream has not counted all of these tokens. */
  estimated: boolean;
}

/** A reservation of a request. */
export interface Hold {
  id: string;
  /** The day whose budget it counts against, days since 1970 (UTC). */
  day: number;
}

/** Receives charged rows. */
export interface LedgerSink {
  charged(row: LedgerRow): void;
}

/** Receives failures of ledger writes. */
export interface LedgerFaults {
  /** The rows stay queued. */
  writeFailed(): void;
  /** `rows` rows are lost. */
  lost(rows: number): void;
}

export interface UsageLedgerDeps {
  store: { ledger: Pick<Store["ledger"], "insert"> };
  prices: Prices;
  sinks: readonly LedgerSink[];
  faults: LedgerFaults;
  log: { error(fields: object, message: string): void };
  /** Unix seconds. */
  now(): number;
}

const FLUSH_MS = 50;
const RETRY_MS = 1000;
const ROWS_PER_WRITE = 500;
/** Most rows queued while the store fails; beyond it the oldest are dropped and logged. */
const MAX_WAITING = 100_000;

interface Waiting {
  row: LedgerRow;
  hold: Hold | null;
}

/** True for an error caused by a row itself, which would fail at every retry. */
function isRowsFault(error: unknown): boolean {
  return error instanceof StoreError && (error.code === "constraint" || error.code === "internal");
}

/**
 * Writes one row per request. Rows of online requests are collected and written within 100 ms, so that no response
 * waits for the disk; a crash can lose the last of those. Rows of batch lines are only created here and are committed
 * with their result.
 */
export class UsageLedger {
  readonly #deps: UsageLedgerDeps;
  readonly #sinks: LedgerSink[];
  #waiting: Waiting[] = [];
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<boolean> | null = null;

  constructor(deps: UsageLedgerDeps) {
    this.#deps = deps;
    this.#sinks = [...deps.sinks];
  }

  /**
   * Records an online request; returns at once and never throws on behalf of the store. The row releases the request's
   * reservation.
   */
  record(use: Use, hold: Hold | null = null): void {
    const row = this.#row(use, null);
    this.#waiting.push({ row: hold === null ? row : { ...row, day: hold.day }, hold });
    if (this.#waiting.length > MAX_WAITING) {
      this.#deps.log.error({ rows: ROWS_PER_WRITE }, "Ledger rows are lost: the store rejected them");
      this.#waiting.splice(0, ROWS_PER_WRITE);
      this.#deps.faults.lost(ROWS_PER_WRITE);
    }
    this.#writeIn(FLUSH_MS);
  }

  /** Reports rows to this sink too, from now on. */
  tell(sink: LedgerSink): void {
    this.#sinks.push(sink);
  }

  /** Creates the row of a batch line, to commit with its result; call `committed` after the commit. */
  lineRow(use: Omit<Use, "tier">, line: { batchId: string; number: number }): LedgerRow {
    return this.#row({ ...use, tier: "batch" }, line);
  }

  /** Nano-dollars per token of a batch line, with fractions. */
  lineRates(model: string): { inputNano: number; outputNano: number } {
    return this.#deps.prices.rates(model, "batch");
  }

  /** Reports a durable row of a batch line to the sinks. */
  committed(row: LedgerRow): void {
    for (const sink of this.#sinks) sink.charged(row);
  }

  /** Writes all queued rows, at shutdown. Rows that the store still rejects are logged as lost. */
  async flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    await this.#writing;
    while (this.#waiting.length > 0) {
      if (await this.#write()) continue;
      this.#deps.log.error({ rows: this.#waiting.length }, "Ledger rows are lost: the store rejected them");
      this.#deps.faults.lost(this.#waiting.length);
      return;
    }
  }

  #row(use: Use, line: { batchId: string; number: number } | null): LedgerRow {
    const { prices, now } = this.#deps;
    const time = now();
    return {
      time,
      day: dayOf(time * 1000),
      owner: use.owner,
      keyId: use.keyId,
      endpoint: use.endpoint,
      model: use.model,
      version: use.version,
      tier: use.tier,
      batchId: line?.batchId ?? null,
      line: line?.number ?? null,
      inputTokens: use.inputTokens,
      cachedTokens: use.cachedTokens,
      outputTokens: use.outputTokens,
      reasoningTokens: use.reasoningTokens,
      estimated: use.estimated ? 1 : 0,
      costNano: prices.costNano(use.model, use.tier, use),
      defaultCostNano: prices.costNano(use.model, "default", use),
    };
  }

  #writeIn(ms: number): void {
    if (this.#timer !== null || this.#writing !== null) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#writing = this.#write();
      void this.#writing.then((written) => {
        this.#writing = null;
        if (this.#waiting.length > 0) this.#writeIn(written ? 0 : RETRY_MS);
      });
    }, ms);
    this.#timer.unref();
  }

  /** False when the store failed; the rows stay queued. */
  async #write(): Promise<boolean> {
    const taken = this.#waiting.splice(0, ROWS_PER_WRITE);
    const rows = taken.map(({ row }) => row);
    const settled = taken.flatMap(({ hold }) => hold?.id ?? []);
    try {
      await this.#deps.store.ledger.insert({ rows, settled });
    } catch (error) {
      if (isRowsFault(error)) return this.#writeEach(taken);
      this.#deps.log.error({ err: error, rows: rows.length }, "Ledger rows could not be written; retrying");
      this.#deps.faults.writeFailed();
      this.#waiting.unshift(...taken);
      return false;
    }
    for (const row of rows) this.committed(row);
    return true;
  }

  /**
   * Writes rows one by one, because one that cannot be stored would block all others. Such a row is lost, and its
   * reservation released.
   */
  async #writeEach(taken: readonly Waiting[]): Promise<boolean> {
    for (const [index, { row, hold }] of taken.entries()) {
      const settled = hold === null ? [] : [hold.id];
      try {
        await this.#deps.store.ledger.insert({ rows: [row], settled });
        this.committed(row);
      } catch (error) {
        if (!isRowsFault(error)) {
          this.#deps.log.error(
            { err: error, rows: taken.length - index },
            "Ledger rows could not be written; retrying",
          );
          this.#deps.faults.writeFailed();
          this.#waiting.unshift(...taken.slice(index));
          return false;
        }
        this.#deps.log.error({ err: error, row }, "A ledger row is lost: the store rejected it");
        this.#deps.faults.lost(1);
        await this.#deps.store.ledger.insert({ rows: [], settled }).catch(() => {});
      }
    }
    return true;
  }
}
