/** xoshiro128** of Blackman and Vigna: small, fast, and of good quality in every bit, unlike xorshift. */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #d: number;

  /** `seed` is any 32-bit integer; `stream` gives independent sequences of one seed. */
  constructor(seed: number, stream = 0) {
    let state = (seed ^ Math.imul(stream + 1, 0x9e3779b9)) | 0;
    // splitmix32 spreads the seed over the state, as the authors recommend: an all-zero state would stay zero
    const next = () => {
      state = (state + 0x9e3779b9) | 0;
      let z = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
      z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
      return z ^ (z >>> 15);
    };
    this.#a = next();
    this.#b = next();
    this.#c = next();
    this.#d = next() | 1;
  }

  /** Fills the array with random 32-bit words. */
  fill(words: Int32Array): void {
    let a = this.#a;
    let b = this.#b;
    let c = this.#c;
    let d = this.#d;
    for (let i = 0; i < words.length; i++) {
      const five = Math.imul(b, 5);
      words[i] = Math.imul((five << 7) | (five >>> 25), 9);
      const t = b << 9;
      c ^= a;
      d ^= b;
      b ^= c;
      a ^= d;
      c ^= t;
      d = (d << 11) | (d >>> 21);
    }
    this.#a = a;
    this.#b = b;
    this.#c = c;
    this.#d = d;
  }

  /** A number in [0, 1). */
  next(): number {
    const word = new Int32Array(1);
    this.fill(word);
    return (word[0]! >>> 0) / 2 ** 32;
  }

  /** An integer from `from` to `to`, both inclusive. */
  integer(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }
}
