import type { Tier } from "../../protocol/request.ts";

/** What decides when a waiting sequence's turn comes. */
export interface Queued {
  readonly tier: Tier;
  readonly owner: string;
  readonly tokens: readonly number[];
  /** How many of them are computed. */
  readonly computed: number;
}

interface Account {
  /** Tokens computed for this owner since its tier had a queue, or what it was set to when it joined that. */
  served: number;
  waiting: number;
}

/**
 * Owners take turns within a tier: next is who was served the fewest tokens, and of one owner who came first. Prompts are
 * charged when they start, answers token by token, so an owner of long answers gets as much as one of short ones.
 *
 * Who joins the queue begins at the queue's clock and not at 0: being away earns no credit. The clock runs as the account
 * of an owner with a fair share does (the served tokens, divided by the owners who wait), so whoever was served much is
 * reached by it, and comes before all who join later: nobody waits for ever, however many new owners come. That is all the
 * aging there is, in flex as in the other tiers. When nobody waits, all accounts are closed.
 *
 * After start-time fair queueing (Goyal, Vin, Cheng, SIGCOMM 1996) and the token counters of Sheng et al. (OSDI 2024).
 */
export class TierQueues<S extends Queued> {
  readonly #queues = new Map<Tier, Queue>();

  /** One begins to wait. */
  join({ tier, owner }: S): void {
    this.#queue(tier).join(owner);
  }

  /** One that waited starts, with the prompt that it has still to compute. */
  start({ tier, owner, tokens, computed }: S): void {
    const queue = this.#queue(tier);
    queue.charge(owner, tokens.length - computed);
    queue.leave(owner);
  }

  /** One that waited ends. */
  leave({ tier, owner }: S): void {
    this.#queue(tier).leave(owner);
  }

  /** One that runs got another token. */
  charge({ tier, owner }: S): void {
    this.#queue(tier).charge(owner, 1);
  }

  /**
   * Those who wait, in the order of their turns; worked out as far as it is asked for, which is seldom far.
   *
   * @param waiting by tier, and within each by arrival
   */
  *order(waiting: readonly S[]): Generator<S, void> {
    for (let from = 0, to = 0; from < waiting.length; from = to) {
      const { tier } = waiting[from]!;
      while (waiting[to]?.tier === tier) to++;
      const queue = this.#queue(tier);
      if (queue.owners > 1) yield* takeTurns(waiting.slice(from, to), (owner) => queue.served(owner));
      else for (let i = from; i < to; i++) yield waiting[i]!;
    }
  }

  #queue(tier: Tier): Queue {
    const queue = this.#queues.get(tier) ?? new Queue();
    this.#queues.set(tier, queue);
    return queue;
  }
}

/** The accounts of one tier. */
class Queue {
  readonly #accounts = new Map<string, Account>();
  #clock = 0;
  /** Owners with someone who waits. */
  owners = 0;

  served(owner: string): number {
    return this.#accounts.get(owner)?.served ?? this.#clock;
  }

  join(owner: string): void {
    const account = this.#account(owner);
    if (account.waiting++ > 0) return;
    account.served = Math.max(account.served, this.#clock);
    this.owners++;
  }

  leave(owner: string): void {
    const account = this.#account(owner);
    if (--account.waiting > 0) return;
    if (account.served <= this.#clock) this.#accounts.delete(owner);
    if (--this.owners > 0) return;
    this.#accounts.clear();
    this.#clock = 0;
  }

  charge(owner: string, tokens: number): void {
    if (this.owners === 0) return;
    this.#account(owner).served += tokens;
    this.#clock += tokens / this.owners;
  }

  #account(owner: string): Account {
    const account = this.#accounts.get(owner) ?? { served: this.#clock, waiting: 0 };
    this.#accounts.set(owner, account);
    return account;
  }
}

/** As they would start if all did now, each prompt charged to its owner. */
function* takeTurns<S extends Queued>(waiting: readonly S[], servedBefore: (owner: string) => number) {
  const lines = new Map<string, Line<S>>();
  for (const sequence of waiting) {
    const { owner } = sequence;
    const line = lines.get(owner) ?? { served: servedBefore(owner), next: 0, queue: [] };
    lines.set(owner, line);
    line.queue.push(sequence);
  }
  for (;;) {
    let least: Line<S> | null = null;
    // Lines stand in the order of their first arrival, which decides between equals.
    for (const line of lines.values()) {
      if (line.next < line.queue.length && (least === null || line.served < least.served)) least = line;
    }
    if (least === null) return;
    const sequence: S = least.queue[least.next++]!;
    least.served += sequence.tokens.length - sequence.computed;
    yield sequence;
  }
}

interface Line<S> {
  served: number;
  next: number;
  queue: S[];
}
