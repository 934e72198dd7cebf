/** llama.cpp's memory of one context; −1 stands for the start or the end of an id. Called between steps only. */
export interface KvMemory {
  /**
   * Whether ids may share cells where states are reused as a whole. Not those of windows: llama.cpp frees a cell behind a
   * window only while one id holds it, so that shared ones would fill the cells of windows.
   */
  readonly sharesStates: boolean;
  remove(id: number, from: number, to: number): void;
  copy(source: number, target: number, from: number, to: number): void;
  /** Whether a copy that the next decode makes reads or writes an id. Until then its state can be neither saved nor loaded. */
  moving(id: number): boolean;
  /** Whether an id can be cut to its first `length` tokens; asked only where states are reused as a whole. */
  canCut(id: number, length: number): boolean;
  /** The state of an id; null when it cannot be read now. */
  save(id: number): Uint8Array | null;
  /**
   * Replaces the content of an id by a saved state. Not while the id is moving. False when that fails, for now or permanently;
   * the content of the id is then to be removed.
   */
  load(id: number, state: Uint8Array): boolean;
  /** The state of an id without the keys and values of full attention, and its bytes; asked only where states are reused as a whole. */
  savePartial(id: number): Uint8Array | null;
  partialBytes(id: number): number;
  /** Takes the partial state of an id back to a saved one. Its tokens past that are to be removed; all of them on false. */
  loadPartial(id: number, state: Uint8Array): boolean;
}
