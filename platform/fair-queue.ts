/** What an owner was served, in whatever unit the caller charges. */
interface Account {
  served: number;
  waiting: boolean;
}

/**
 * Which of several owners is next: the one that was served least.
 *
 * An owner that begins to wait starts at the queue's clock and not at zero, so absence earns no credit. The clock advances
 * as the account of an owner with a fair share does (what is served, divided by the owners that wait). It therefore passes
 * every account that stands still, and an owner that was served much comes before all that join later: no owner starves,
 * however many new ones join. When no owner waits, all accounts are closed.
 *
 * After start-time fair queueing (Goyal, Vin, Cheng, SIGCOMM 1996) and the token counters of Sheng et al. (OSDI 2024).
 */
export class FairQueue {
  readonly #accounts = new Map<string, Account>();
  #clock = 0;
  #waiting = 0;

  /** The owner has something that waits. */
  join(owner: string): void {
    const account = this.#account(owner);
    if (account.waiting) return;
    account.waiting = true;
    account.served = Math.max(account.served, this.#clock);
    this.#waiting++;
  }

  /** Nothing of the owner waits any longer. */
  leave(owner: string): void {
    const account = this.#accounts.get(owner);
    if (account === undefined || !account.waiting) return;
    account.waiting = false;
    this.#waiting--;
    if (this.#waiting === 0) {
      this.#accounts.clear();
      this.#clock = 0;
    } else if (account.served <= this.#clock) {
      this.#accounts.delete(owner);
    }
  }

  /** Exactly these owners wait. */
  set(owners: ReadonlySet<string>): void {
    // Joins come first: the accounts are closed when none is left in between.
    for (const owner of owners) this.join(owner);
    for (const [owner, { waiting }] of this.#accounts) if (waiting && !owners.has(owner)) this.leave(owner);
  }

  /** The owner was served so much; to be called while it or another owner waits. */
  charge(owner: string, amount: number): void {
    if (this.#waiting === 0) return;
    this.#account(owner).served += amount;
    this.#clock += amount / this.#waiting;
  }

  served(owner: string): number {
    return this.#accounts.get(owner)?.served ?? this.#clock;
  }

  /** The one of these owners that was served least, the first of equals. */
  least(owners: Iterable<string>): string | undefined {
    let least: string | undefined;
    for (const owner of owners) if (least === undefined || this.served(owner) < this.served(least)) least = owner;
    return least;
  }

  #account(owner: string): Account {
    const account = this.#accounts.get(owner) ?? { served: this.#clock, waiting: false };
    this.#accounts.set(owner, account);
    return account;
  }
}
