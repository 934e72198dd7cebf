import { loopTurn } from "../../platform/loop-turn.ts";

/** Characters of a piece, which is written in about a millisecond. */
const PIECE = 64 * 1024;

/** T with iterables in place of arrays: jsonPieces can write items that are made one by one. */
export type Unwritten<T> = T extends readonly (infer Item)[]
  ? Iterable<Unwritten<Item>>
  : T extends object
    ? { [Key in keyof T]: Unwritten<T[Key]> }
    : T;

/** A list whose items are made when they are written. */
export class LateList<From, Item> implements Iterable<Item> {
  readonly #from: readonly From[];
  readonly #make: (from: From, index: number) => Item;

  constructor(from: readonly From[], make: (from: From, index: number) => Item) {
    this.#from = from;
    this.#make = make;
  }

  *[Symbol.iterator](): Generator<Item> {
    for (const [index, from] of this.#from.entries()) yield this.#make(from, index);
  }
}

/**
 * The value as JSON, in pieces of about 64 Ki characters. A list may be any iterable. An item of an iterable other than an
 * array is written in one piece, so it must be small.
 */
export function* jsonPieces(value: unknown): Generator<string, void> {
  const piece = { text: "" };
  yield* written(value, piece);
  yield piece.text;
}

function* written(value: unknown, piece: { text: string }): Generator<string, void> {
  if (typeof value !== "object" || value === null) {
    piece.text += JSON.stringify(value);
  } else if (Symbol.iterator in value) {
    yield* list(value as Iterable<unknown>, piece);
  } else {
    let separator = "{";
    for (const [key, entry] of Object.entries(value)) {
      if (entry === undefined) continue;
      piece.text += `${separator}${JSON.stringify(key)}:`;
      separator = ",";
      yield* written(entry, piece);
      if (piece.text.length < PIECE) continue;
      yield piece.text;
      piece.text = "";
    }
    piece.text += separator === "{" ? "{}" : "}";
  }
}

function* list(items: Iterable<unknown>, piece: { text: string }): Generator<string, void> {
  let separator = "";
  piece.text += "[";
  for (const item of items) {
    piece.text += separator;
    separator = ",";
    if (Array.isArray(items)) yield* written(item, piece);
    else piece.text += JSON.stringify(item);
    if (piece.text.length < PIECE) continue;
    yield piece.text;
    piece.text = "";
  }
  piece.text += "]";
}

/** The value as JSON. More than one piece is written in slices of the event loop. */
export async function jsonBytes(value: unknown): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (const piece of jsonPieces(value)) {
    if (pieces.length > 0) await loopTurn();
    pieces.push(Buffer.from(piece));
  }
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
}
