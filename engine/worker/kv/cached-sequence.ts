/** The content of one sequence id of the cache: the first `computed` tokens of `tokens`, with their keys and values. */
export interface CachedSequence {
  /** −1 without an id. */
  id: number;
  /** May grow; computed tokens never change. */
  readonly tokens: readonly number[];
  computed: number;
  /** Prefixes are shared only within a scope. */
  readonly scope: string;
}

/**
 * What of a resident a sequence can start with: in `parts` any of its first tokens; as a `whole` all of its computed tokens or
 * nothing, because a recurrent state cannot be taken back to an earlier token. A window of the last tokens can, while it still
 * has those before that token.
 */
export type Reuse = "parts" | "whole";

export interface PrefixMatch<R extends CachedSequence = CachedSequence> {
  resident: R | null;
  length: number;
}

export const NO_PREFIX: PrefixMatch<never> = { resident: null, length: 0 };

/** The length of the common prefix, at most `limit`. */
export function commonPrefix(a: readonly number[], b: readonly number[], limit: number): number {
  const end = Math.min(limit, a.length, b.length);
  let length = 0;
  while (length < end && a[length] === b[length]) length++;
  return length;
}

/** The last token of a prompt is always computed: the first new token is drawn from its logits. */
export function reusableLength(tokens: readonly number[]): number {
  return tokens.length - 1;
}
