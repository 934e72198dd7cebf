import { FairQueue } from "../../../platform/fair-queue.ts";
import { TIERS, type Tier } from "../../protocol/request.ts";
import { remaining } from "./scheduled-sequence.ts";
import { insertInOrder, type Tiered } from "./tiers.ts";

/** The properties of a sequence that the queue reads. */
export interface Queued extends Tiered {
  readonly owner: string;
  readonly tokens: number[];
  readonly computed: number;
}

/**
 * The sequences that wait: by tier, and within a tier by one fair queue over their owners. A prompt is charged to its owner
 * when the sequence starts, its answer token by token, so long answers and short ones get equal shares. Flex ages in this
 * way alone, as the other tiers do.
 */
export class WaitingQueue<S extends Queued> {
  /** By tier, and within a tier by arrival. */
  readonly #sequences: S[] = [];
  readonly #fairQueues = Object.fromEntries(TIERS.map((tier) => [tier, new FairQueue()])) as Record<Tier, FairQueue>;

  get sequences(): readonly S[] {
    return this.#sequences;
  }

  add(sequence: S): void {
    this.#fairQueues[sequence.tier].join(sequence.owner);
    insertInOrder(this.#sequences, sequence);
  }

  remove(sequence: S): void {
    this.#sequences.splice(this.#sequences.indexOf(sequence), 1);
    this.#fairQueues[sequence.tier].leave(sequence.owner);
  }

  /** Removes a sequence that starts, and charges the rest of its prompt to its owner. */
  start(sequence: S): void {
    this.#fairQueues[sequence.tier].charge(sequence.owner, remaining(sequence));
    this.remove(sequence);
  }

  /** Charges one more token of a running sequence to its owner. */
  charge({ tier, owner }: S): void {
    this.#fairQueues[tier].charge(owner, 1);
  }

  /**
   * The waiting sequences in the order of admission, as they wait now. Computed as far as it is read, which is seldom far.
   *
   * @param batchBeforeFlex whether the first sequence of batch precedes flex
   */
  *order(batchBeforeFlex = false): Generator<S, void> {
    const waiting = [...this.#sequences];
    if (batchBeforeFlex) moveBatchBeforeFlex(waiting);
    for (let from = 0, to = 0; from < waiting.length; from = to) {
      const { tier } = waiting[from]!;
      while (waiting[to]?.tier === tier) to++;
      const fairQueue = this.#fairQueues[tier];
      const ofTier = waiting.slice(from, to);
      if (fairQueue.owners > 1) yield* fairQueue.order(byOwner(ofTier), remaining);
      else yield* ofTier;
    }
  }
}

function moveBatchBeforeFlex(waiting: Queued[]): void {
  const flex = waiting.findIndex(({ tier }) => tier === "flex");
  const batch = waiting.findIndex(({ tier }) => tier === "batch");
  if (flex >= 0 && batch > flex) waiting.splice(flex, 0, ...waiting.splice(batch, 1));
}

/** Owners in the order of their first arrivals, which decides between owners that were served the same. */
function byOwner<S extends Queued>(sequences: readonly S[]): Map<string, S[]> {
  const owners = new Map<string, S[]>();
  for (const sequence of sequences) {
    const own = owners.get(sequence.owner) ?? [];
    owners.set(sequence.owner, own);
    own.push(sequence);
  }
  return owners;
}
