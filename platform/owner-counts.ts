/** How much of what they share each owner has: requests, sequences or tokens that wait, bytes of bodies. */
export class OwnerCounts {
  readonly #waiting = new Map<string, number>();
  total = 0;

  add(owner: string, count: number): void {
    const waiting = this.of(owner) + count;
    this.total += count;
    if (waiting > 0) this.#waiting.set(owner, waiting);
    else this.#waiting.delete(owner);
  }

  of(owner: string): number {
    return this.#waiting.get(owner) ?? 0;
  }

  /**
   * Whether so many more of an owner may wait where `limit` may in all. Whatever is asked at once may wait where nobody does:
   * waiting would never make it fit. And one owner can't have the queue to itself: whose part of it is then less than an
   * equal one may wait, so that of n owners no more wait than the limit times 1 + 1/2 + … + 1/n.
   */
  takes(owner: string, count: number, limit: number): boolean {
    if (this.total === 0 || this.total + count <= limit) return true;
    const owners = this.#waiting.size + (this.#waiting.has(owner) ? 0 : 1);
    return this.of(owner) + count <= limit / owners;
  }

  /**
   * The share, 0 to 1, of those who wait that start before one more of this owner. Owners take turns, so of each other one
   * no more go before it than it has itself, and one; that some are served more tokens in a turn is not foreseen.
   */
  shareAhead(owner: string): number {
    const own = this.of(owner);
    let ahead = 0;
    for (const [other, waiting] of this.#waiting) {
      ahead += other === owner ? waiting : Math.min(waiting, own + 1);
    }
    return this.total === 0 ? 1 : ahead / this.total;
  }
}
