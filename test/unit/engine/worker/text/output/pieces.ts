/** Cuts a text or bytes into pieces of these lengths, over and over; empty pieces included. */
export function pieces<T extends string | Uint8Array>(whole: T, lengths: number[]): T[] {
  const result: T[] = [];
  const advances = lengths.some((length) => length > 0);
  for (let start = 0, turn = 0; start < whole.length; turn += 1) {
    const length = advances ? lengths[turn % lengths.length]! : whole.length;
    result.push(whole.slice(start, start + length) as T);
    start += length;
  }
  return result;
}
