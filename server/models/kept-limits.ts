import { MOST_LIMIT, type ReplicaLimits } from "../../engine/upstream/replica/concurrency-limit.ts";
import type { Replica } from "../../engine/upstream/replica/replica.ts";
import { type Clock, epochSeconds } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import type { Store } from "../../store/store.ts";
import type { ReplicaLimitsRow } from "../../store/tables/replica-limits.ts";

export interface KeptLimitsDeps {
  store: Pick<Store, "replicaLimits">;
  clock: Clock;
  log: Pick<Log, "warn">;
}

/** The part of an upstream whose limits are kept. */
export interface LimitedUpstream {
  readonly access: { readonly config: { readonly name: string }; readonly replicas: readonly LimitedReplica[] };
}
type LimitedReplica = Pick<Replica, "url"> & { readonly limit: { readonly limits: ReplicaLimits } };

/** Seconds after which a limit says nothing of the replica any more. */
const OLD_S = 86_400;
/** Milliseconds between two looks at the limits: a crash loses the changes of so long at most. */
const LOOK_MS = 5000;
/** Seconds after which unchanged limits are written again, so that a crash finds them young. */
const AGAIN_S = 3600;

/** Keeps the limits of all replicas over restarts. Without the store, or while it fails, the server runs as without them. */
export class KeptLimits {
  readonly #deps: KeptLimitsDeps;
  readonly #kept: ReadonlyMap<string, ReplicaLimits>;
  #upstreams: readonly LimitedUpstream[] = [];
  /** What was written, and when in Unix seconds. */
  #written: string;
  #writtenAt: number;
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> | null = null;
  #failing = false;

  private constructor(deps: KeptLimitsDeps, rows: readonly ReplicaLimitsRow[]) {
    const now = epochSeconds(deps.clock);
    const young = rows.filter(({ writtenAt }) => now - writtenAt < OLD_S);
    this.#deps = deps;
    this.#kept = new Map(young.map((row) => [keyOf(row.upstream, row.replica), limitsOf(row)]));
    this.#written = textOf(rows);
    this.#writtenAt = Math.min(now, ...rows.map(({ writtenAt }) => writtenAt));
  }

  /** Reads the limits that an earlier run of the server left. */
  static async open(deps: KeptLimitsDeps): Promise<KeptLimits> {
    const rows = await deps.store.replicaLimits.all().catch((error: unknown) => {
      deps.log.warn({ err: error }, "The replicas' limits could not be read; they begin anew");
      return [];
    });
    return new KeptLimits(deps, rows);
  }

  /** The limits with which a replica begins; undefined where none are kept. */
  of(upstream: string, replica: string): ReplicaLimits | undefined {
    return this.#kept.get(keyOf(upstream, replica));
  }

  /** Writes the limits of these from now on; rows of others are removed. */
  async watch(upstreams: readonly LimitedUpstream[]): Promise<void> {
    this.#upstreams = upstreams;
    await this.#writeIfDue();
    if (upstreams.length === 0) return;
    this.#timer = setInterval(() => void this.#writeIfDue(), LOOK_MS);
    this.#timer.unref();
  }

  /** Writes the limits as they are, at shutdown. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#writing;
    await this.#write(this.#rows());
  }

  #rows(): ReplicaLimitsRow[] {
    const writtenAt = epochSeconds(this.#deps.clock);
    return this.#upstreams.flatMap(({ access: { config, replicas } }) =>
      replicas.map(({ url, limit }) => ({ upstream: config.name, replica: url, ...limit.limits, writtenAt })),
    );
  }

  async #writeIfDue(): Promise<void> {
    if (this.#writing !== null) return;
    const rows = this.#rows();
    const young = epochSeconds(this.#deps.clock) - this.#writtenAt < AGAIN_S;
    if (textOf(rows) === this.#written && (young || rows.length === 0)) return;
    this.#writing = this.#write(rows).finally(() => {
      this.#writing = null;
    });
    await this.#writing;
  }

  async #write(rows: readonly ReplicaLimitsRow[]): Promise<void> {
    const { store, log, clock } = this.#deps;
    try {
      await store.replicaLimits.replace({ rows });
      this.#written = textOf(rows);
      this.#writtenAt = epochSeconds(clock);
      this.#failing = false;
    } catch (error) {
      if (!this.#failing) log.warn({ err: error }, "The replicas' limits could not be written; trying again");
      this.#failing = true;
    }
  }
}

function keyOf(upstream: string, replica: string): string {
  return `${upstream}\n${replica}`;
}

/** The limits without their time, in one order. */
function textOf(rows: readonly ReplicaLimitsRow[]): string {
  const texts = rows.map(({ upstream, replica, alone, beside }) => `${keyOf(upstream, replica)}\n${alone} ${beside}`);
  return texts.sort().join("\n");
}

/** Within the bounds of this release. */
function limitsOf({ alone, beside }: ReplicaLimitsRow): ReplicaLimits {
  return { alone: Math.min(MOST_LIMIT, alone), beside: Math.min(MOST_LIMIT, beside) };
}
