/** Service that an owner had, in the unit that the caller charges. */
interface Account {
  served: number;
  /** Items of the owner that wait. */
  waiting: number;
}

/** Number of accounts up to which none is swept. */
const FEW_ACCOUNTS = 64;

/**
 * Fair queueing over owners: next is the owner that was served least.
 *
 * An owner that begins to wait starts at the queue's virtual time and not at zero, so absence earns no credit. The virtual
 * time advances as the account of an owner with a fair share does (by the served amount, divided by the owners that wait).
 * It therefore passes every account that stands still, and an owner that was served much precedes all that join later: no
 * owner starves, however many new owners join. When no owner waits, all accounts are closed.
 *
 * After start-time fair queueing (Goyal, Vin, Cheng, SIGCOMM 1996) and the token counters of Sheng et al. (OSDI 2024).
 */
export class FairQueue {
  readonly #accounts = new Map<string, Account>();
  #virtualTime = 0;
  #owners = 0;
  #sweepAt = FEW_ACCOUNTS;

  /** Owners that wait. */
  get owners(): number {
    return this.#owners;
  }

  /** Accounts that are kept: of the owners that wait, and of those ahead of the virtual time. */
  get size(): number {
    return this.#accounts.size;
  }

  /** One more item of the owner waits. */
  join(owner: string): void {
    const account = this.#account(owner);
    if (account.waiting++ > 0) return;
    account.served = Math.max(account.served, this.#virtualTime);
    this.#owners++;
  }

  /** One item of the owner waits no longer. */
  leave(owner: string): void {
    const account = this.#accounts.get(owner);
    if (account === undefined || account.waiting === 0 || --account.waiting > 0) return;
    this.#owners--;
    if (this.#owners === 0) {
      this.#accounts.clear();
      this.#virtualTime = 0;
      this.#sweepAt = FEW_ACCOUNTS;
    } else if (account.served <= this.#virtualTime) {
      this.#accounts.delete(owner);
    }
  }

  /** Exactly these owners wait, with one item each. */
  set(owners: ReadonlySet<string>): void {
    // Joins come first: the accounts are closed when none is left in between.
    for (const owner of owners) if (!this.#waits(owner)) this.join(owner);
    for (const owner of this.#accounts.keys()) if (this.#waits(owner) && !owners.has(owner)) this.leave(owner);
  }

  /** The owner was served this amount; to be called while it or another owner waits. */
  charge(owner: string, amount: number): void {
    if (this.#owners === 0) return;
    this.#account(owner).served += amount;
    this.#virtualTime += amount / this.#owners;
  }

  served(owner: string): number {
    return this.#accounts.get(owner)?.served ?? this.#virtualTime;
  }

  /** The one of these owners that was served least, the first of equals. */
  least(owners: Iterable<string>): string | undefined {
    let least: string | undefined;
    for (const owner of owners) if (least === undefined || this.served(owner) < this.served(least)) least = owner;
    return least;
  }

  /**
   * The items in the order in which they would be served if all were served now: always the next item of the owner that was
   * served least, the first of equals. Computed as far as it is read.
   *
   * @param waiting items by owner, each owner's in their own order
   * @param cost what serving an item will charge
   * @param begun true for an owner's first item when it is partly served: it precedes all others
   */
  *order<T>(
    waiting: Iterable<readonly [owner: string, items: readonly T[]]>,
    cost: (item: T) => number,
    begun: (item: T) => boolean = () => false,
  ): Generator<T, void> {
    const queues = Array.from(waiting, ([owner, items]) => {
      const served = this.served(owner);
      const first = items[0];
      return { items, next: 0, served, rank: first !== undefined && begun(first) ? Number.NEGATIVE_INFINITY : served };
    });
    for (;;) {
      let least: (typeof queues)[number] | null = null;
      for (const queue of queues) {
        if (queue.next < queue.items.length && (least === null || queue.rank < least.rank)) least = queue;
      }
      if (least === null) return;
      const item = least.items[least.next++]!;
      least.served += cost(item);
      least.rank = least.served;
      yield item;
    }
  }

  #waits(owner: string): boolean {
    return (this.#accounts.get(owner)?.waiting ?? 0) > 0;
  }

  #account(owner: string): Account {
    const known = this.#accounts.get(owner);
    if (known !== undefined) return known;
    if (this.#accounts.size >= this.#sweepAt) this.#sweep();
    const account = { served: this.#virtualTime, waiting: 0 };
    this.#accounts.set(owner, account);
    return account;
  }

  /** Removes accounts that the virtual time has passed and whose owners do not wait: without one they start at that time. */
  #sweep(): void {
    for (const [owner, { served, waiting }] of this.#accounts) {
      if (waiting === 0 && served <= this.#virtualTime) this.#accounts.delete(owner);
    }
    this.#sweepAt = Math.max(FEW_ACCOUNTS, this.#accounts.size * 2);
  }
}
