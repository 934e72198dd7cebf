/** What decides whose turn it is. */
interface Owned {
  readonly batch: { readonly owner: string };
}

/**
 * Owners take turns at a model: the next lines are of whom the fewest tokens were claimed for, and of one owner those of the
 * nearest deadline. Deadlines alone would let one owner's backlog of a day hold up another's ten lines, which then expire.
 *
 * Who comes begins at the clock, the least account of those who have lines, and not at zero: being away earns no credit.
 */
export class OwnerTurns {
  /** Estimated tokens claimed for each; who is not here stands at the clock. */
  readonly #claimed = new Map<string, number>();
  #clock = 0;

  /** @param due in the order of their deadlines */
  order<Member extends Owned>(due: readonly Member[]): Member[] {
    const byOwner = new Map<string, Member[]>();
    for (const member of due) {
      const { owner } = member.batch;
      const theirs = byOwner.get(owner);
      if (theirs === undefined) byOwner.set(owner, [member]);
      else theirs.push(member);
    }
    const turns = [...byOwner].map(([owner, members]) => ({ at: this.#accountOf(owner), members }));
    turns.sort((a, b) => a.at - b.at);
    this.#clock = turns[0]?.at ?? this.#clock;
    for (const [owner, claimed] of this.#claimed) if (claimed <= this.#clock) this.#claimed.delete(owner);
    return turns.flatMap(({ members }) => members);
  }

  /** Lines of the owner were claimed. */
  charge(owner: string, tokens: number): void {
    this.#claimed.set(owner, this.#accountOf(owner) + tokens);
  }

  #accountOf(owner: string): number {
    return Math.max(this.#claimed.get(owner) ?? 0, this.#clock);
  }
}
