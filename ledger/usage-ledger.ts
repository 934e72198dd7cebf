import type { LedgerRow, LedgerTier } from "../store/ledger.ts";
import type { Store } from "../store/store.ts";
import type { Prices, TokenCounts } from "./prices.ts";

/** One request that was answered, in whole or in part. */
export interface Use extends TokenCounts {
  owner: string;
  keyId: string | null;
  endpoint: string;
  model: string;
  version: string;
  tier: LedgerTier;
  /** Part of outputTokens. */
  reasoningTokens: number;
}

/** Hears what becomes of rows, for the metrics. */
export interface LedgerSink {
  charged(row: LedgerRow): void;
  /** The store took nothing; the rows wait on. */
  writeFailed(): void;
  /** So many rows will never be written. */
  lost(rows: number): void;
}

export interface UsageLedgerDeps {
  store: Pick<Store, "ledger">;
  prices: Prices;
  sink: LedgerSink;
  log: { error(fields: object, message: string): void };
  /** Unix seconds. */
  now(): number;
}

const FLUSH_MS = 50;
const RETRY_MS = 1000;
const ROWS_PER_WRITE = 500;
/** Rows kept while the store does not take them; the oldest beyond go, and the log says how many. */
const MAX_WAITING = 100_000;

/**
 * Writes one row per request. Rows of online requests are gathered and written within 100 ms, so that no response waits
 * for the disk; a crash can lose what ended in the last of those. Rows of batch lines are only made here: they commit
 * with their result.
 */
export class UsageLedger {
  readonly #deps: UsageLedgerDeps;
  #waiting: LedgerRow[] = [];
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<boolean> | null = null;

  constructor(deps: UsageLedgerDeps) {
    this.#deps = deps;
  }

  /** Notes an online request; returns at once and never throws for the store's sake. */
  record(use: Use): void {
    this.#waiting.push(this.#row(use, null));
    if (this.#waiting.length > MAX_WAITING) {
      this.#deps.log.error({ rows: ROWS_PER_WRITE }, "Ledger rows are lost: the store takes none");
      this.#waiting.splice(0, ROWS_PER_WRITE);
      this.#deps.sink.lost(ROWS_PER_WRITE);
    }
    this.#writeIn(FLUSH_MS);
  }

  /** The row of a batch line, to commit with its result; call `committed` when that happened. */
  lineRow(use: Omit<Use, "tier">, line: { batchId: string; number: number }): LedgerRow {
    return this.#row({ ...use, tier: "batch" }, line);
  }

  /** Counts a batch line's row that is durable now. */
  committed(row: LedgerRow): void {
    this.#deps.sink.charged(row);
  }

  /** Writes what waits; for the end of the server. Rows that the store refuses even now are logged as lost. */
  async flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    await this.#writing;
    while (this.#waiting.length > 0) {
      if (await this.#write()) continue;
      this.#deps.log.error({ rows: this.#waiting.length }, "Ledger rows are lost: the store takes none");
      this.#deps.sink.lost(this.#waiting.length);
      return;
    }
  }

  #row(use: Use, line: { batchId: string; number: number } | null): LedgerRow {
    const { prices, now } = this.#deps;
    return {
      time: now(),
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

  /** False when the store took nothing; the rows wait on. */
  async #write(): Promise<boolean> {
    const rows = this.#waiting.splice(0, ROWS_PER_WRITE);
    try {
      await this.#deps.store.ledger.insert({ rows });
    } catch (error) {
      this.#deps.log.error({ err: error, rows: rows.length }, "Ledger rows could not be written; trying again");
      this.#deps.sink.writeFailed();
      this.#waiting.unshift(...rows);
      return false;
    }
    for (const row of rows) this.#deps.sink.charged(row);
    return true;
  }
}
