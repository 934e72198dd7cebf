/** The remaining work of one batch and its owner. */
export interface OwnedWork {
  owner: string;
  /** Estimated tokens. */
  remainingTokens: number;
}

/**
 * For each batch, the tokens of all batches together that are computed when it ends. Owners get equal shares, and each
 * owner's batches run one after the other in the given order: the fluid limit of the fair queue of LineClaimer.
 */
export function fairCompletion(backlog: readonly OwnedWork[]): number[] {
  const left = backlog.map(({ remainingTokens }) => remainingTokens);
  const queues = new Map<string, number[]>();
  for (const [index, { owner }] of backlog.entries()) {
    const queue = queues.get(owner);
    if (queue === undefined) queues.set(owner, [index]);
    else queue.push(index);
  }
  const ends = new Array<number>(backlog.length).fill(0);
  let computed = 0;
  while (queues.size > 0) {
    const heads = [...queues.values()].map((queue) => queue[0]!);
    const least = Math.min(...heads.map((index) => left[index]!));
    computed += least * heads.length;
    for (const [owner, queue] of queues) {
      const head = queue[0]!;
      left[head]! -= least;
      if (left[head]! > 0) continue;
      ends[head] = computed;
      queue.shift();
      if (queue.length === 0) queues.delete(owner);
    }
  }
  return ends;
}
