/**
 * A sequence state of llama.cpp (`llama_state_seq_get_data`) with more cells than were computed. The cost of a step depends on
 * the number of a sequence's cells, not on their content, and computing a thousand takes seconds.
 *
 * The format, of the pinned release: magic, sequence id, streams; per stream the number of its cells, and unless that is
 * 0 each cell's position, number of sequences and their ids; whether values are transposed, layers; per layer type, row
 * size and rows of the keys; then the values, per layer the same, or where transposed type, element size, elements of a
 * row, and for each of these one element per cell. A hybrid model's recurrent state follows: number of cells, and unless that is
 * 0 each cell's position and number of sequences, which is 0; whether states are transposed, layers; then the states.
 *
 * @param state of a sequence with one cell
 * @returns null where the state is not of this form: a cache of another kind, another release
 */
export function deepState(state: Uint8Array, cells: number): Uint8Array | null {
  try {
    return new Widening(Buffer.from(state.buffer, state.byteOffset, state.length), cells).run();
  } catch (error) {
    // In another format a length is read from the wrong bytes.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

class Widening {
  readonly #from: Buffer;
  readonly #cells: number;
  readonly #parts: Buffer[] = [];
  #at = 0;

  constructor(from: Buffer, cells: number) {
    this.#from = from;
    this.#cells = cells;
  }

  run(): Uint8Array | null {
    this.#copy(8);
    const streams = this.#uint32();
    for (let stream = 0; stream < streams; stream++) {
      const count = this.#from.readUInt32LE(this.#at);
      if (count > 1) return null;
      if (count === 0) this.#copy(4);
      else this.#stream();
    }
    const whole = this.#at === this.#from.length || this.#recurrentState();
    return whole ? Buffer.concat(this.#parts) : null;
  }

  /** Moves the recurrent state to the last position. @returns whether it has the form of one */
  #recurrentState(): boolean {
    const cells = this.#uint32();
    const position = Buffer.from(this.#take(4));
    position.writeInt32LE(this.#cells - 1);
    this.#parts.push(position);
    const [sequences, transposed] = [this.#uint32(), this.#uint32()];
    this.#copy(this.#from.length - this.#at);
    return cells === 1 && sequences === 0 && transposed === 0;
  }

  #stream(): void {
    this.#at += 4;
    const count = Buffer.alloc(4);
    count.writeUInt32LE(this.#cells);
    this.#parts.push(count);
    const cell = this.#take(12);
    for (let position = 0; position < this.#cells; position++) {
      const copy = Buffer.from(cell);
      copy.writeInt32LE(position);
      this.#parts.push(copy);
    }
    const transposed = this.#uint32() === 1;
    const layers = this.#uint32();
    for (let layer = 0; layer < layers; layer++) this.#rows();
    for (let layer = 0; layer < layers; layer++)
      if (transposed) this.#elements();
      else this.#rows();
  }

  /** Type, size of a row, a row. */
  #rows(): void {
    this.#copy(4);
    const size = Number(this.#copy(8).readBigUInt64LE());
    this.#repeat(this.#take(size));
  }

  /** Type, size of an element, elements, the elements. */
  #elements(): void {
    this.#copy(4);
    const size = this.#uint32();
    const count = this.#uint32();
    for (let element = 0; element < count; element++) this.#repeat(this.#take(size));
  }

  #repeat(bytes: Buffer): void {
    this.#parts.push(Buffer.alloc(bytes.length * this.#cells, bytes));
  }

  #uint32(): number {
    return this.#copy(4).readUInt32LE();
  }

  #copy(length: number): Buffer {
    const bytes = this.#take(length);
    this.#parts.push(bytes);
    return bytes;
  }

  #take(length: number): Buffer {
    if (this.#at + length > this.#from.length) throw new RangeError("The state ends early.");
    this.#at += length;
    return this.#from.subarray(this.#at - length, this.#at);
  }
}
