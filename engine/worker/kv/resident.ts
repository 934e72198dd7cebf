/** What one sequence id of the cache holds: the first `computed` tokens of `tokens`, with their keys and values. */
export interface Resident {
  /** −1 while it has no id. */
  id: number;
  readonly tokens: readonly number[];
  computed: number;
}

export interface PrefixMatch {
  resident: Resident | null;
  length: number;
}

export const NO_PREFIX: PrefixMatch = { resident: null, length: 0 };

/** How many tokens both begin with, at most `limit`. */
export function commonPrefix(a: readonly number[], b: readonly number[], limit: number): number {
  const end = Math.min(limit, a.length, b.length);
  let length = 0;
  while (length < end && a[length] === b[length]) length++;
  return length;
}

/** The resident whose computed tokens share the longest prefix with the first `limit` of `tokens`; of equals, the first. */
export function longestPrefix(tokens: readonly number[], limit: number, residents: Iterable<Resident>): PrefixMatch {
  let best = NO_PREFIX;
  for (const resident of residents) {
    const end = Math.min(limit, resident.computed);
    // One that does not have the token after the best prefix can't be better: most are passed by at one comparison.
    if (end <= best.length || resident.tokens[best.length] !== tokens[best.length]) continue;
    const length = commonPrefix(tokens, resident.tokens, end);
    if (length > best.length) best = { resident, length };
  }
  return best;
}

/** Whether a holds all that b does. */
export function covers(a: Resident, b: Resident): boolean {
  const last = b.computed - 1;
  if (a.computed < b.computed || a.tokens[last] !== b.tokens[last]) return false;
  return commonPrefix(a.tokens, b.tokens, b.computed) === b.computed;
}

/** The last token of a prompt is always computed: its logits are what the first new token is drawn from. */
export function reusableLength(tokens: readonly number[]): number {
  return tokens.length - 1;
}
