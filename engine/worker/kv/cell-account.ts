/**
 * Counts the cells of a unified cache: a cell may belong to several ids that share a prefix, and is free when the last of
 * them lets go. It mirrors llama.cpp's own book-keeping, which can't be asked while a step computes.
 */
export class CellAccount {
  readonly cells: number;
  readonly #references: Uint16Array;
  readonly #free: number[];
  /** By id: the cell of each position. */
  readonly #held = new Map<number, number[]>();

  constructor(cells: number) {
    this.cells = cells;
    this.#references = new Uint16Array(cells);
    this.#free = Array.from({ length: cells }, (_, i) => cells - 1 - i);
  }

  get free(): number {
    return this.#free.length;
  }

  get used(): number {
    return this.cells - this.#free.length;
  }

  held(id: number): number {
    return this.#held.get(id)?.length ?? 0;
  }

  /** Cells that would become free if this id let go. */
  private(id: number): number {
    let count = 0;
    for (const cell of this.#held.get(id) ?? []) if (this.#references[cell] === 1) count++;
    return count;
  }

  share(source: number, target: number, length: number): void {
    const cells = (this.#held.get(source) ?? []).slice(0, length);
    for (const cell of cells) this.#references[cell]!++;
    this.#held.set(target, cells);
  }

  /** The caller has made sure that `count` cells are free. */
  grow(id: number, count: number): void {
    const cells = this.#held.get(id) ?? [];
    for (let i = 0; i < count; i++) {
      const cell = this.#free.pop();
      if (cell === undefined) throw new Error("More cells were asked for than are free.");
      this.#references[cell] = 1;
      cells.push(cell);
    }
    this.#held.set(id, cells);
  }

  cut(id: number, length: number): void {
    const cells = this.#held.get(id) ?? [];
    for (const cell of cells.splice(length)) if (--this.#references[cell]! === 0) this.#free.push(cell);
    if (cells.length === 0) this.#held.delete(id);
  }
}
