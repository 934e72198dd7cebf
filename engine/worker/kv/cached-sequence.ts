/** What one sequence id of the cache holds: the first `computed` tokens of `tokens`, with their keys and values. */
export interface CachedSequence {
  /** −1 while it has no id. */
  id: number;
  /** May grow; what is computed of it never changes. */
  readonly tokens: readonly number[];
  computed: number;
  /** Prefixes are shared within a scope alone. */
  readonly scope: string;
}

export interface PrefixMatch<R extends CachedSequence = CachedSequence> {
  resident: R | null;
  length: number;
}

export const NO_PREFIX: PrefixMatch<never> = { resident: null, length: 0 };

/** How many tokens both begin with, at most `limit`. */
export function commonPrefix(a: readonly number[], b: readonly number[], limit: number): number {
  const end = Math.min(limit, a.length, b.length);
  let length = 0;
  while (length < end && a[length] === b[length]) length++;
  return length;
}

/** The last token of a prompt is always computed: its logits are what the first new token is drawn from. */
export function reusableLength(tokens: readonly number[]): number {
  return tokens.length - 1;
}
