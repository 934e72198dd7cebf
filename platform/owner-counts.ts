/** The use of a shared bound by owner: waiting requests, sequences or tokens, bytes of bodies. */
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
   * Whether `count` more of an owner may wait where `limit` may wait in all. An empty queue accepts any count, because waiting
   * would never make it fit. A full queue accepts an owner with less than an equal part, so one owner can't fill it: of n
   * owners at most the limit times 1 + 1/2 + … + 1/n wait.
   */
  takes(owner: string, count: number, limit: number): boolean {
    if (this.total === 0 || this.total + count <= limit) return true;
    const owners = this.#waiting.size + (this.#waiting.has(owner) ? 0 : 1);
    return this.of(owner) + count <= limit / owners;
  }

  /**
   * The share, 0 to 1, of the waiting that start before one more of this owner. By fair queueing, at most as many of each
   * other owner precede it as it has itself, and one more; that requests differ in tokens is not considered.
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
