import { type ApiError, unavailable } from "../../../openapi/api-error.ts";
import type { Tier } from "../../protocol/request.ts";
import type { RateCap } from "../rate/rate-cap.ts";
import type { Placement } from "./placement.ts";
import { isOnline, type Replica, type Visit } from "./replica.ts";

const RETRY_SECONDS = 5;

/** A request for a place at a replica. */
export interface Entrance {
  tier: Tier;
  /** Estimated tokens of prompt and answer. */
  tokens: number;
  /** Its choices or inputs. */
  sequences: number;
  /** Of the prompt, as prefix-blocks.ts has them. */
  blocks: readonly number[];
  /** URLs of replicas that have failed at it; they are tried last. */
  avoid: ReadonlySet<string>;
  /** True for a request that was preempted: it has its turn before those that wait. */
  preempted: boolean;
  /** As of its visit. */
  mayPreempt: () => boolean;
}

interface Waiter {
  entrance: Entrance;
  enter(visit: Visit): void;
}

/**
 * Lets requests into the replicas of one upstream. Online requests enter at once, or are refused where no replica is there.
 * Those of flex and batch wait for a place under a replica's limit, flex before batch, in their order. Where they may be preempted,
 * an online request has them give up the places for which it would wait. The rate of the upstream holds for all of them.
 */
export class Gate {
  readonly #upstream: string;
  readonly #replicas: readonly Replica[];
  readonly #placement: Placement;
  readonly #rate: RateCap;
  readonly #preempts: () => boolean;
  readonly #waiting: Record<"flex" | "batch", Set<Waiter>> = { flex: new Set(), batch: new Set() };

  /** Runs until a replica's pause ends, while requests wait for it. */
  #pause: NodeJS.Timeout | null = null;

  /** @param preempts true where requests of flex and batch may be preempted */
  constructor(
    upstream: string,
    replicas: readonly Replica[],
    placement: Placement,
    rate: RateCap,
    preempts = () => false,
  ) {
    this.#preempts = preempts;
    this.#upstream = upstream;
    this.#replicas = replicas;
    this.#placement = placement;
    this.#rate = rate;
    for (const replica of replicas) replica.onLeave = () => this.pump();
  }

  get waiting(): number {
    return this.#waiting.flex.size + this.#waiting.batch.size;
  }

  /** Requests of flex and batch that may be in flight at once. */
  get places(): number {
    return this.#candidates().reduce((sum, { places }) => sum + places, 0);
  }

  /** True where a replica that is not to be avoided may take requests. */
  hasOther(avoid: ReadonlySet<string>): boolean {
    return this.#replicas.some(({ url, healthy, breaker }) => healthy && breaker.admits(false) && !avoid.has(url));
  }

  /** Rejects with the ApiError of a request that no replica will take, or with the signal's reason. */
  async enter(entrance: Entrance, signal: AbortSignal): Promise<Visit> {
    signal.throwIfAborted();
    const { tier, preempted } = entrance;
    if (isOnline(tier) && this.#rate.capped) return this.#enterAtRate(entrance, signal);
    const queue = tier === "flex" || tier === "batch" ? this.#waiting[tier] : null;
    const visit = queue === null || queue.size === 0 || preempted ? this.#tryEnter(entrance) : null;
    if (visit !== null) return visit;
    if (queue === null || this.#candidates().length === 0) throw this.#unavailable();
    return new Promise((resolve, reject) => {
      const leave = () => {
        queue.delete(waiter);
        reject(signal.reason);
      };
      const waiter: Waiter = {
        entrance,
        enter: (entered) => {
          signal.removeEventListener("abort", leave);
          resolve(entered);
        },
      };
      const behind = preempted ? [...queue] : [];
      if (preempted) queue.clear();
      for (const one of [waiter, ...behind]) queue.add(one);
      this.#awaitPause();
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  /** An online request waits for nothing but the rate of the upstream. */
  async #enterAtRate(entrance: Entrance, signal: AbortSignal): Promise<Visit> {
    const use = await this.#rate.enter(entrance.tokens, signal);
    const visit = this.#tryEnter(entrance);
    if (visit === null) {
      use.undo();
      throw this.#unavailable();
    }
    visit.rate = use;
    return visit;
  }

  /**
   * Lets an online request into a second replica beside its first one. Null where none is idle, or where flex and batch would wait
   * for the rate: the second attempt takes nothing that another request needs.
   */
  enterBeside(
    first: Replica,
    { tier, tokens, sequences, blocks }: Pick<Entrance, "tier" | "tokens" | "sequences" | "blocks">,
  ): Visit | null {
    if (this.#rate.lowerWaitMs(tokens) > 0) return null;
    const other = this.#choose(
      { blocks, avoid: new Set() },
      (replica) => replica !== first && replica.isIdle(sequences),
    );
    const visit = other?.enter(tier, tokens, false, sequences) ?? null;
    if (visit !== null) visit.rate = this.#rate.takeLower(tokens);
    return visit;
  }

  /** A replica has told its load. An online request that entered before the queue was seen may wait behind flex and batch there. */
  reported(replica: Replica): void {
    if (replica.holdsOnline && this.#preempts()) replica.makeRoom();
  }

  /** Admits waiting requests, as far as there are places: called when a request leaves, and about every second. */
  pump(): void {
    this.#rate.pump();
    for (const queue of [this.#waiting.flex, this.#waiting.batch]) {
      for (const waiter of queue) {
        const visit = this.#tryEnter(waiter.entrance);
        // The first that finds no place keeps its turn.
        if (visit === null) {
          this.#awaitPause();
          return;
        }
        queue.delete(waiter);
        waiter.enter(visit);
      }
    }
  }

  /** No request leaves at the end of a pause: those that wait would stay until the next second. */
  #awaitPause(): void {
    const pauses = this.#candidates().flatMap(({ limit }) => (limit.pausedMs > 0 ? [limit.pausedMs] : []));
    const [first] = this.#waiting.flex.size > 0 ? this.#waiting.flex : this.#waiting.batch;
    const rateMs = first === undefined ? 0 : this.#rate.lowerWaitMs(first.entrance.tokens);
    if (rateMs > 0) pauses.push(rateMs);
    if (this.#pause !== null || pauses.length === 0) return;
    const wake = () => {
      this.#pause = null;
      this.pump();
    };
    this.#pause = setTimeout(wake, Math.ceil(Math.min(...pauses)));
    this.#pause.unref();
  }

  #tryEnter(entrance: Entrance): Visit | null {
    const { tier, tokens, sequences } = entrance;
    if (!isOnline(tier) && this.#rate.lowerWaitMs(tokens) > 0) return null;
    const candidates = this.#candidates();
    // Where no breaker admits, each of them tries one request at a time rather than refuse all.
    const last = candidates.length === 1 || !candidates.some(({ breaker }) => breaker.admits(false));
    const admits = (replica: Replica) => candidates.includes(replica) && replica.admits(tier, last);
    const visit = this.#choose(entrance, admits)?.enter(tier, tokens, last, sequences) ?? null;
    if (visit === null) return null;
    visit.mayPreempt = entrance.mayPreempt;
    if (!isOnline(tier)) visit.rate = this.#rate.takeLower(tokens);
    else if (this.#preempts()) visit.replica.makeRoom();
    return visit;
  }

  /** Null where no replica admits the request. */
  #choose(
    { blocks, avoid }: Pick<Entrance, "blocks" | "avoid">,
    admits: (replica: Replica) => boolean,
  ): Replica | null {
    const seen = this.#replicas.map((replica) => ({
      replica,
      id: replica.url,
      weight: replica.weight,
      healthy: admits(replica),
      tried: avoid.has(replica.url),
      requests: replica.requests,
      tokens: replica.tokens,
      kvUsed: replica.load.kvUsed,
    }));
    if (!seen.some(({ healthy }) => healthy)) return null;
    return this.#placement.choose(seen, blocks)?.replica.replica ?? null;
  }

  /** Healthy replicas whose breakers admit; all healthy ones where none does. */
  #candidates(): readonly Replica[] {
    const healthy = this.#replicas.filter((replica) => replica.healthy);
    const admitting = healthy.filter(({ breaker }) => breaker.admits(false));
    return admitting.length > 0 ? admitting : healthy;
  }

  #unavailable(): ApiError {
    const message = `No replica of the upstream '${this.#upstream}' takes requests now. Try again later.`;
    return unavailable("upstream_unavailable", message, RETRY_SECONDS);
  }
}
