interface Holding {
  /** The cell of each position. */
  cells: number[];
  running: boolean;
}

/**
 * Counts the cells of a unified cache: a cell may belong to several ids that share a prefix, and is free when the last of
 * them releases it. It mirrors llama.cpp's own bookkeeping, which cannot be read while a step computes, and runs ahead of it
 * by the cells reserved for prompts that are still to be computed.
 */
export class CellAccount {
  readonly cells: number;
  /** By cell: the number of ids that hold it, and of those that run. */
  readonly #references: Uint16Array;
  readonly #pins: Uint16Array;
  readonly #free: number[];
  readonly #held = new Map<number, Holding>();
  #pinned = 0;

  constructor(cells: number) {
    this.cells = cells;
    this.#references = new Uint16Array(cells);
    this.#pins = new Uint16Array(cells);
    this.#free = Array.from({ length: cells }, (_, i) => cells - 1 - i);
  }

  get free(): number {
    return this.#free.length;
  }

  get used(): number {
    return this.cells - this.#free.length;
  }

  /** Cells that only idle ids hold. */
  get idle(): number {
    return this.used - this.#pinned;
  }

  held(id: number): number {
    return this.#held.get(id)?.cells.length ?? 0;
  }

  /** Of an id's first `length` cells, those that no running id holds. */
  unpinned(id: number, length: number): number {
    const cells = this.#held.get(id)?.cells ?? [];
    let count = 0;
    for (let i = 0; i < length; i++) if (this.#pins[cells[i]!] === 0) count++;
    return count;
  }

  /** Adds a running id that holds the first `length` cells of another; length 0 means no cells. */
  start(id: number, source: number, length: number): void {
    const cells = this.#held.get(source)?.cells.slice(0, length) ?? [];
    for (const cell of cells) {
      this.#references[cell]!++;
      this.#pin(cell);
    }
    this.#held.set(id, { cells, running: true });
  }

  /** An idle id runs again. */
  resume(id: number): void {
    const holding = this.#held.get(id)!;
    holding.running = true;
    for (const cell of holding.cells) this.#pin(cell);
  }

  /** A running id becomes idle. */
  rest(id: number): void {
    const holding = this.#held.get(id)!;
    holding.running = false;
    for (const cell of holding.cells) this.#unpin(cell);
  }

  /** Adds cells to a running id. The caller has made sure that `count` cells are free. */
  grow(id: number, count: number): void {
    const { cells } = this.#held.get(id)!;
    for (let i = 0; i < count; i++) {
      const cell = this.#free.pop();
      if (cell === undefined) throw new Error("Cell account: more cells were reserved than are free.");
      this.#references[cell] = 1;
      this.#pin(cell);
      cells.push(cell);
    }
  }

  cut(id: number, length: number): void {
    const { cells, running } = this.#held.get(id)!;
    while (cells.length > length) {
      const cell = cells.pop()!;
      if (running) this.#unpin(cell);
      if (--this.#references[cell]! === 0) this.#free.push(cell);
    }
  }

  drop(id: number): void {
    this.cut(id, 0);
    this.#held.delete(id);
  }

  #pin(cell: number): void {
    if (this.#pins[cell]!++ === 0) this.#pinned++;
  }

  #unpin(cell: number): void {
    if (--this.#pins[cell]! === 0) this.#pinned--;
  }
}
