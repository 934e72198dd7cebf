/**
 * The token with the highest logit, of equals the lowest id: the same draw as of llama.cpp's greedy sampler, which first copies
 * the row into structs three times its size. Eight at a time, since nearly every comparison fails: faster than one by one, and
 * both are faster than the copy.
 *
 * As there, a NaN is never higher than another logit, and stays the highest when it is the first.
 */
export function argmax(logits: Float32Array): number {
  const { length } = logits;
  const end = length - (length % 8);
  let best = 0;
  let most = logits[0]!;
  for (let i = 0; i < end; i += 8) {
    if (
      logits[i]! > most ||
      logits[i + 1]! > most ||
      logits[i + 2]! > most ||
      logits[i + 3]! > most ||
      logits[i + 4]! > most ||
      logits[i + 5]! > most ||
      logits[i + 6]! > most ||
      logits[i + 7]! > most
    ) {
      best = highest(logits, i, i + 8, best);
      most = logits[best]!;
    }
  }
  return highest(logits, end, length, best);
}

/** The index of the highest logit in [from, to) and at `best`. */
function highest(logits: Float32Array, from: number, to: number, best: number): number {
  let index = best;
  for (let i = from; i < to; i++) if (logits[i]! > logits[index]!) index = i;
  return index;
}
