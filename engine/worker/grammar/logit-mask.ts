/** The tokens that a mask leaves. */
export interface RemainingTokens {
  /** Tokens that can be drawn: 0, 1, or 2 for more. */
  count: 0 | 1 | 2;
  /** One of them; −1 for none. */
  token: number;
}

const ALL = 0xffffffff;

/** Makes every token without its bit impossible to draw. */
export function maskLogits(logits: Float32Array, mask: Uint32Array): RemainingTokens {
  let count = 0;
  let token = -1;
  for (let word = 0; word < mask.length; word++) {
    const bits = mask[word]!;
    const from = word * 32;
    const to = Math.min(from + 32, logits.length);
    if (bits === 0) {
      logits.fill(Number.NEGATIVE_INFINITY, from, to);
      continue;
    }
    // Inside of a string nearly every word of the mask is full.
    if (bits === ALL && count > 1) continue;
    for (let i = from; i < to; i++) {
      if (((bits >>> (i - from)) & 1) === 0) {
        logits[i] = Number.NEGATIVE_INFINITY;
      } else if (logits[i]! > Number.NEGATIVE_INFINITY) {
        count++;
        token = i;
      }
    }
  }
  return { count: count > 1 ? 2 : count === 1 ? 1 : 0, token };
}
