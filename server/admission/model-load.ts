import type { EngineObserver } from "../../engine/engine.ts";
import type { PieceStats } from "../../engine/protocol/embedding.ts";
import { ONLINE_TIERS, type OnlineTier, TIERS_AHEAD, type Tier } from "../../engine/protocol/request.ts";
import type { ApiError } from "../../openapi/api-error.ts";
import { OwnerCounts } from "../../platform/owner-counts.ts";
import { runningMean } from "../../platform/running-mean.ts";
import { EmbeddingLoad } from "./embedding-load.ts";

/** A request as an entry of its model's load. */
export interface LoadEntry {
  tier: Tier;
  owner: string;
  /** One for each choice; none for embeddings, ranks and tokenization. */
  sequences: number;
}

/** A waiting request that can be made to fail. */
export interface Displaceable {
  failed(error: ApiError): void;
}

/** The requests of one model that have not ended, and means over recent ones. */
export class ModelLoad {
  /** Requests of which no sequence has started, and requests of which one has. */
  waiting = 0;
  running = 0;
  /** Waiting requests that precede a new request of the tier, by owner. */
  readonly ahead: Record<OnlineTier, OwnerCounts> = {
    priority: new OwnerCounts(),
    default: new OwnerCounts(),
    flex: new OwnerCounts(),
  };
  /** Waiting flex requests by arrival; the last is displaced when the queue is full for a better tier. */
  readonly waitingFlex = new Set<Displaceable>();
  /** Mean milliseconds between two starts while requests wait; 0 before the first. */
  startEveryMs = 0;
  /** Sequences of waiting requests, by tier and owner. */
  readonly waitingSequences: Record<Tier, OwnerCounts> = {
    priority: new OwnerCounts(),
    default: new OwnerCounts(),
    flex: new OwnerCounts(),
    batch: new OwnerCounts(),
  };
  /** Requests since the server started. */
  arrived = 0;
  /** Sequences of requests that have not ended. */
  readonly sequences: Record<Tier, number> = { priority: 0, default: 0, flex: 0, batch: 0 };
  /** Means over recent requests, 0 before the first: prompt tokens that were computed, and tokens of one answer. */
  promptTokens = 0;
  answerTokens = 0;
  /** The load of embeddings and ranks. */
  readonly embedding = new EmbeddingLoad();

  readonly #now: () => number;
  /** The time of the last start; null while no request waits. */
  #startedAt: number | null = null;

  /** @param now milliseconds, monotonic */
  constructor(now: () => number) {
    this.#now = now;
  }

  arrive(entry: LoadEntry): void {
    this.arrived++;
    this.#wait(entry, 1);
    this.sequences[entry.tier] += entry.sequences;
  }

  start(entry: LoadEntry): void {
    this.#wait(entry, -1);
    this.running++;
    const now = this.#now();
    if (this.#startedAt !== null) this.startEveryMs = runningMean(this.startEveryMs || null, now - this.#startedAt);
    this.#startedAt = this.waiting > 0 ? now : null;
  }

  /** The engine process died; the request waits to run once more. */
  restart(entry: LoadEntry): void {
    this.running--;
    this.#wait(entry, 1);
  }

  leave(phase: "waiting" | "running", entry: LoadEntry): void {
    if (phase === "waiting") this.#wait(entry, -1);
    else this.running--;
    this.sequences[entry.tier] -= entry.sequences;
  }

  /** Updates the means with a completed request. */
  learn(promptTokens: number, answerTokens: number): void {
    this.promptTokens = runningMean(this.promptTokens || null, promptTokens);
    this.answerTokens = runningMean(this.answerTokens || null, answerTokens);
  }

  #wait({ tier, owner, sequences }: LoadEntry, sign: 1 | -1): void {
    this.waiting += sign;
    for (const later of ONLINE_TIERS)
      if (TIERS_AHEAD[later].some((other) => other === tier)) this.ahead[later].add(owner, sign);
    this.waitingSequences[tier].add(owner, sign * sequences);
  }
}

/** One load per model. Observes embedding batches, for the speed of embeddings. */
export class ModelLoads implements Pick<EngineObserver, "piece"> {
  readonly #byModel = new Map<string, ModelLoad>();
  readonly #now: () => number;

  /** @param now milliseconds, monotonic */
  constructor(now: () => number) {
    this.#now = now;
  }

  of(model: string): ModelLoad {
    let load = this.#byModel.get(model);
    if (load === undefined) {
      load = new ModelLoad(this.#now);
      this.#byModel.set(model, load);
    }
    return load;
  }

  piece(model: string, stats: PieceStats): void {
    this.of(model).embedding.learn(stats);
  }
}
