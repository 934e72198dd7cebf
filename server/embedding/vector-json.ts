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
export async function embeddingItems(vectors: readonly Float32Array[], format: EncodingFormat): Promise<string> {
  let items = "";
  let written = 0;
  for (const [index, vector] of vectors.entries()) {
    const value = format === "base64" ? `"${base64Of(vector)}"` : `[${vector.join(",")}]`;
    items += `${index === 0 ? "" : ","}{"object":"embedding","index":${index},"embedding":${value}}`;
    written += vector.length;
    if (written < WRITTEN_AT_ONCE) continue;
    written = 0;
    await loopTurn();
  }
  return items;
}
