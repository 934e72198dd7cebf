import type { EngineObserver } from "../../engine/engine.ts";
import type { PieceStats } from "../../engine/protocol/embedding.ts";
import { ONLINE_TIERS, type OnlineTier, TIERS_AHEAD, type Tier } from "../../engine/protocol/request.ts";
import type { ApiError } from "../../openapi/api-error.ts";
import { OwnerCounts } from "../../platform/owner-counts.ts";
import { EmbeddingLoad } from "./embedding-load.ts";

/** The weight of the latest in a running mean. */
const LATEST = 1 / 16;

/** A request as it weighs on a model. */
export interface Burden {
  tier: Tier;
  owner: string;
  /** Those of its choices; none of texts that are read for their vectors alone. */
  sequences: number;
}

/** A call that fails with this while it waits. */
export interface Displaceable {
  failed(error: ApiError): void;
}

/** Requests of one model that the engine has and has not ended, and what the late ones were like. */
export class ModelLoad {
  /** Requests by whether a sequence of theirs has started. */
  waiting = 0;
  running = 0;
  /** Those that wait and go before a request of the tier that comes now, or were there before it, by whose they are. */
  readonly ahead: Record<OnlineTier, OwnerCounts> = {
    priority: new OwnerCounts(),
    default: new OwnerCounts(),
    flex: new OwnerCounts(),
  };
  /** Calls of flex that wait, by arrival: the last gives way when a better tier finds the queue full. */
  readonly waitingFlex = new Set<Displaceable>();
  /** Mean milliseconds from one start to the next while others wait; 0 until there was one. */
  startEveryMs = 0;
  /** Sequences of those that wait, by tier and whose they are. */
  readonly waitingSequences: Record<Tier, OwnerCounts> = {
    priority: new OwnerCounts(),
    default: new OwnerCounts(),
    flex: new OwnerCounts(),
    batch: new OwnerCounts(),
  };
  /** Since the server started. */
  arrived = 0;
  /** Sequences of requests that have not ended. */
  readonly sequences: Record<Tier, number> = { priority: 0, default: 0, flex: 0, batch: 0 };
  /** Means of late requests, 0 until there was one: prompt tokens that were computed, and tokens of one answer. */
  promptTokens = 0;
  answerTokens = 0;
  /** Of texts that are read for their vectors alone. */
  readonly embedding = new EmbeddingLoad();

  readonly #now: () => number;
  /** When the last one started, while others wait. */
  #startedAt: number | null = null;

  /** @param now milliseconds, monotonic */
  constructor(now: () => number) {
    this.#now = now;
  }

  arrive(burden: Burden): void {
    this.arrived++;
    this.#wait(burden, 1);
    this.sequences[burden.tier] += burden.sequences;
  }

  start(burden: Burden): void {
    this.#wait(burden, -1);
    this.running++;
    const now = this.#now();
    if (this.#startedAt !== null) this.startEveryMs = mean(this.startEveryMs, now - this.#startedAt);
    this.#startedAt = this.waiting > 0 ? now : null;
  }

  /** Its engine died; it runs once more. */
  startOver(burden: Burden): void {
    this.running--;
    this.#wait(burden, 1);
  }

  leave(phase: "waiting" | "running", burden: Burden): void {
    if (phase === "waiting") this.#wait(burden, -1);
    else this.running--;
    this.sequences[burden.tier] -= burden.sequences;
  }

  /** One ended well. */
  learn(promptTokens: number, answerTokens: number): void {
    this.promptTokens = mean(this.promptTokens, promptTokens);
    this.answerTokens = mean(this.answerTokens, answerTokens);
  }

  #wait({ tier, owner, sequences }: Burden, sign: 1 | -1): void {
    this.waiting += sign;
    for (const asked of ONLINE_TIERS)
      if (TIERS_AHEAD[asked].some((other) => other === tier)) this.ahead[asked].add(owner, sign);
    this.waitingSequences[tier].add(owner, sign * sequences);
  }
}

function mean(before: number, latest: number): number {
  return before === 0 ? latest : before + (latest - before) * LATEST;
}

/** One load per model. Hears of engines' pieces, which tell how fast embeddings go. */
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
