/**
 * For each position of a window, the number of tokens that end there and are also the window's last tokens; 0 for the last
 * position itself. It takes one pass, by the Z algorithm read backwards.
 *
 * @param tokens the window is its part from `from` on
 */
export function repeatLengths(tokens: readonly number[], from: number): Int32Array {
  const length = tokens.length - from;
  const last = tokens.length - 1;
  // By the distance from the end: the common part of the tokens before the end and of those before this position.
  const common = new Int32Array(length);
  let left = 0;
  let right = 0;
  for (let k = 1; k < length; k++) {
    let n = k < right ? Math.min(right - k, common[k - left]!) : 0;
    while (k + n < length && tokens[last - n] === tokens[last - k - n]) n++;
    common[k] = n;
    if (k + n > right) {
      left = k;
      right = k + n;
    }
  }
  return common.reverse();
}
