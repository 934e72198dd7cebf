/** What one sequence id of the cache holds: the first `computed` tokens of `tokens`, with their keys and values. */
export interface Resident {
  /** −1 while it has no id. */
  id: number;
  readonly tokens: readonly number[];
  computed: number;
}

export interface PrefixMatch<R extends Resident> {
  resident: R | null;
  length: number;
}

/** How many tokens both begin with, at most `limit`. */
export function commonPrefix(a: readonly number[], b: readonly number[], limit: number): number {
  const end = Math.min(limit, a.length, b.length);
  let length = 0;
  while (length < end && a[length] === b[length]) length++;
  return length;
}

/** The resident whose computed tokens share the longest prefix with `tokens`; of equals, the first. */
export function longestPrefix<R extends Resident>(tokens: readonly number[], residents: Iterable<R>): PrefixMatch<R> {
  let best: PrefixMatch<R> = { resident: null, length: 0 };
  for (const resident of residents) {
    if (resident.computed <= best.length) continue;
    const length = commonPrefix(tokens, resident.tokens, resident.computed);
    if (length > best.length) best = { resident, length };
  }
  return best;
}

/** The last token of a prompt is always computed: its logits are what the first new token is drawn from. */
export function reusableLength(tokens: readonly number[]): number {
  return tokens.length - 1;
}
