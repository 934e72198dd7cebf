import type { Tier } from "../../engine/protocol/request.ts";
import type { Sequence } from "../../engine/worker/scheduler/scheduled-sequence.ts";

export interface Arrival {
  /** The step before which the request arrives. */
  at: number;
  tier: Tier;
  /** "" where it is absent. */
  scope?: string;
  /** All requests have one owner where it is absent. */
  owner?: string;
  prompt: number[];
  /** Tokens to generate. */
  goal: number;
  /** The step before which the client disconnects. */
  cancelAt: number | null;
  /** Steps from the first start until the sequence is ready; 0 where it is absent. */
  lag?: number;
}

/** A sequence of which every token follows from the tokens before it. */
export class SimulatedSequence implements Sequence {
  readonly tier: Tier;
  readonly owner: string;
  readonly arrival: number;
  readonly tokens: number[];
  readonly plan: Arrival;
  readonly scope: string;
  id = -1;
  computed = 0;
  state: Sequence["state"] = "waiting";
  /** Prompt tokens found in the cache at its first start. */
  cached: number | null = null;
  /** True once a step had it. */
  begun = false;
  readonly #step: () => number;
  #readyAt: number | null = null;

  /** @param step the step that is scheduled now */
  constructor(plan: Arrival, arrival: number, step: () => number) {
    this.plan = plan;
    this.#step = step;
    this.tier = plan.tier;
    this.scope = plan.scope ?? "";
    this.owner = plan.owner ?? "local";
    this.arrival = arrival;
    this.tokens = [...plan.prompt];
  }

  ready(): boolean {
    this.#readyAt ??= this.#step() + (this.plan.lag ?? 0);
    return this.#step() >= this.#readyAt;
  }

  get generated(): number[] {
    return this.tokens.slice(this.plan.prompt.length);
  }

  /** Draws the next token. @returns whether it was the last */
  draw(): boolean {
    this.tokens.push(nextToken(this.tokens));
    return this.generated.length >= this.plan.goal;
  }
}

/** Tokens of a request that runs alone. */
export function generateAlone({ prompt, goal }: Arrival): number[] {
  const tokens = [...prompt];
  for (let i = 0; i < goal; i++) tokens.push(nextToken(tokens));
  return tokens.slice(prompt.length);
}

/** A hash of all tokens so far: a sequence that attended over one wrong token would diverge. */
function nextToken(tokens: readonly number[]): number {
  return tokens.reduce((hash, token) => (Math.imul(hash, 31) + token + 7) >>> 0, 1) % 4;
}
