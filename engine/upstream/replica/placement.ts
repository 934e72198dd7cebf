import { RememberedBlocks } from "./prefix-blocks.ts";

/** A replica of the model as placement sees it. */
export interface Candidate {
  readonly id: string;
  /** Its part of the load, relative to those of the others. */
  readonly weight: number;
  /** It serves the model, its health check succeeds, and its breaker admits a request. */
  readonly healthy: boolean;
  /** The request was sent to it before, and failed. */
  readonly tried: boolean;
  /** Requests in flight, running or waiting. */
  readonly requests: number;
  /** Tokens of their prompts and of their expected answers. */
  readonly tokens: number;
  /** Share of its KV cache in use, 0 to 1; null where it does not say. */
  readonly kvUsed: number | null;
}

/** A chosen replica, and the rule that chose it. */
export interface Choice<Replica extends Candidate> {
  replica: Replica;
  rule: "only" | "prefix" | "balance" | "two random";
}

/** The share of a prompt's blocks above which a replica that has them is preferred. */
const LEAST_MATCH = 0.5;
/** Loads are out of balance when the most and the least requests in flight, by weight, differ by more than both. */
const IMBALANCE = 32;
const IMBALANCE_RATIO = 1.1;
/** Share of the KV cache above which running requests may have to be preempted. */
const FULL_KV = 0.9;

/**
 * Chooses the replica for a request, by the first rule that applies:
 *
 * | rule | among the best there are: healthy and untried, without a full KV cache |
 * |---|---|
 * | balance | loads are out of balance: the least loaded one |
 * | prefix | one was sent more than half of the prompt lately: the one with the most of it |
 * | two random | the one of two with fewer tokens in flight |
 *
 * Requests and tokens in flight count by weight: divided by the replica's weight, as a multiple of the mean. The two are drawn by
 * weight too, so that idle replicas have their shares.
 *
 * Other programs may use the replicas too, and a prefix may have been evicted there: the choice is a good guess and no more.
 */
export class Placement {
  readonly #random: () => number;
  readonly #remembered = new Map<string, RememberedBlocks>();

  /** @param random from 0 to 1, 1 excluded */
  constructor(random: () => number) {
    this.#random = random;
  }

  /** Blocks that are remembered of all replicas. */
  get remembered(): number {
    return [...this.#remembered.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /**
   * Null where there is no replica at all. An unhealthy one is chosen where there is no other.
   * @param all every replica of the model: those that are missing are forgotten
   * @param blocks of the prompt, as prefix-blocks.ts has them
   */
  choose<Replica extends Candidate>(all: readonly Replica[], blocks: readonly number[]): Choice<Replica> | null {
    this.#retain(all);
    const choice = this.#choice(best(all), blocks);
    if (choice !== null) this.#blocksOf(choice.replica.id).add(blocks);
    return choice;
  }

  /** The replica started anew, with an empty prefix cache. */
  forget(id: string): void {
    this.#remembered.delete(id);
  }

  #choice<Replica extends Candidate>(replicas: readonly Replica[], blocks: readonly number[]): Choice<Replica> | null {
    const [first, second] = replicas;
    if (first === undefined) return null;
    if (second === undefined) return { replica: first, rule: "only" };
    if (isUnbalanced(replicas)) return { replica: leastLoaded(replicas), rule: "balance" };
    const known = this.#withPrefix(replicas, blocks);
    return known === null
      ? { replica: this.#betterOfTwo(replicas), rule: "two random" }
      : { replica: known, rule: "prefix" };
  }

  #withPrefix<Replica extends Candidate>(replicas: readonly Replica[], blocks: readonly number[]): Replica | null {
    const matches = replicas.map((replica) => this.#remembered.get(replica.id)?.matched(blocks) ?? 0);
    const longest = Math.max(...matches);
    if (longest <= blocks.length * LEAST_MATCH) return null;
    return leastLoaded(replicas.filter((_, index) => matches[index] === longest));
  }

  #betterOfTwo<Replica extends Candidate>(replicas: readonly Replica[]): Replica {
    const one = this.#drawn(replicas);
    const other = this.#drawn(replicas.filter((replica) => replica !== one));
    return one.tokens / one.weight <= other.tokens / other.weight ? one : other;
  }

  #drawn<Replica extends Candidate>(replicas: readonly Replica[]): Replica {
    let left = this.#random() * totalWeight(replicas);
    for (const replica of replicas) {
      left -= replica.weight;
      if (left < 0) return replica;
    }
    return replicas.at(-1)!;
  }

  #blocksOf(id: string): RememberedBlocks {
    let blocks = this.#remembered.get(id);
    if (blocks === undefined) {
      blocks = new RememberedBlocks();
      this.#remembered.set(id, blocks);
    }
    return blocks;
  }

  #retain(all: readonly Candidate[]): void {
    for (const id of this.#remembered.keys()) {
      if (!all.some((replica) => replica.id === id)) this.#remembered.delete(id);
    }
  }
}

/** Health comes before another try, and another try before a free KV cache. */
function best<Replica extends Candidate>(all: readonly Replica[]): readonly Replica[] {
  const healthy = preferred(all, (replica) => replica.healthy);
  const untried = preferred(healthy, (replica) => !replica.tried);
  return preferred(untried, ({ kvUsed }) => kvUsed === null || kvUsed <= FULL_KV);
}

/** Those that are as wanted, else all. */
function preferred<Replica>(all: readonly Replica[], wanted: (replica: Replica) => boolean): readonly Replica[] {
  const some = all.filter(wanted);
  return some.length > 0 ? some : all;
}

function isUnbalanced(replicas: readonly Candidate[]): boolean {
  const mean = totalWeight(replicas) / replicas.length;
  const loads = replicas.map(({ requests, weight }) => (requests * mean) / weight);
  const [most, least] = [Math.max(...loads), Math.min(...loads)];
  return most - least > IMBALANCE && most > IMBALANCE_RATIO * least;
}

function totalWeight(replicas: readonly Candidate[]): number {
  return replicas.reduce((sum, { weight }) => sum + weight, 0);
}

function leastLoaded<Replica extends Candidate>(replicas: readonly Replica[]): Replica {
  return replicas.reduce((least, next) => {
    const requests = next.requests / next.weight - least.requests / least.weight;
    const fewerTokens = next.tokens / next.weight < least.tokens / least.weight;
    return requests < 0 || (requests === 0 && fewerTokens) ? next : least;
  });
}
