import type { EncodingFormat } from "../../openapi/resources/embeddings.ts";
import { loopTurn } from "../../platform/loop-turn.ts";

/** Numbers written in one slice of the event loop: some 5 ms. */
const WRITTEN_AT_ONCE = 32_768;

/**
 * The first numbers of a vector, normalized to length 1: fewer dimensions of a model that was trained for them. The vector
 * itself where all are requested.
 */
export function shortened(vector: Float32Array, dimensions: number | null): Float32Array {
  if (dimensions === null || dimensions >= vector.length) return vector;
  const short = vector.slice(0, dimensions);
  const length = Math.hypot(...short);
  return length === 0 ? short : short.map((value) => value / length);
}

/** Base64 of little-endian float32, the format of OpenAI's clients. */
export function base64Of(vector: Float32Array): string {
  const bytes = Buffer.allocUnsafe(vector.length * 4);
  for (let i = 0; i < vector.length; i++) bytes.writeFloatLE(vector[i]!, i * 4);
  return bytes.toString("base64");
}

/** The list's items as JSON. Writing two thousand long vectors takes seconds, in slices of the event loop. */
export function embeddingItems(vectors: readonly Float32Array[], format: EncodingFormat): Promise<string> {
  return itemsInSlices(vectors, (vector, index) => {
    const value = format === "base64" ? `"${base64Of(vector)}"` : `[${vector.join(",")}]`;
    return `{"object":"embedding","index":${index},"embedding":${value}}`;
  });
}

/** The vectors as the items of a list of lists of numbers. */
export function numberLists(vectors: readonly Float32Array[]): Promise<string> {
  return itemsInSlices(vectors, (vector) => `[${vector.join(",")}]`);
}

async function itemsInSlices(
  vectors: readonly Float32Array[],
  write: (vector: Float32Array, index: number) => string,
): Promise<string> {
  let items = "";
  let written = 0;
  for (const [index, vector] of vectors.entries()) {
    items += `${index === 0 ? "" : ","}${write(vector, index)}`;
    written += vector.length;
    if (written < WRITTEN_AT_ONCE) continue;
    written = 0;
    await loopTurn();
  }
  return items;
}
