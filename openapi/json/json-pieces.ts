import { loopTurn } from "../../platform/loop-turn.ts";

/** Characters of a piece: a millisecond of writing. */
const PIECE = 64 * 1024;

/** T as it may be handed to jsonPieces: a list need not be there before it is written. */
export type Unwritten<T> = T extends readonly (infer Item)[]
  ? Iterable<Unwritten<Item>>
  : T extends object
    ? { [Key in keyof T]: Unwritten<T[Key]> }
    : T;

/** A list of which each item is made when it is written. */
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
 * The value as JSON, in pieces of about 64 Ki characters. Lists may be any iterables. What stands in an iterable that is
 * no array is written at once, so it must be small.
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

/** The value as JSON, written in slices of the event loop's time; at once where it is one piece. */
export async function jsonBytes(value: unknown): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (const piece of jsonPieces(value)) {
    if (pieces.length > 0) await loopTurn();
    pieces.push(Buffer.from(piece));
  }
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
}
