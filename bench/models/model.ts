import { type GgufValue, writeGguf } from "./gguf.ts";
import type { Shape } from "./shapes.ts";
import { syntheticVocabulary, vocabularyMetadata } from "./vocabulary.ts";
import { randomTensor } from "./weights.ts";

/** llama.cpp's numbers for the type of most tensors of a file. */
const FILE_TYPE = { f32: 0, q8_0: 7 };

/**
 * Writes a model of the given shape with random weights. It takes the same compute as a trained model of the shape and
 * generates nonsense words. The same name, shape and seed give the same file. Returns its size in bytes.
 */
export async function writeModel(
  path: string,
  name: string,
  shape: Shape,
  seed: number,
  onBytes?: (written: number, total: number) => void,
): Promise<number> {
  const vocabulary = syntheticVocabulary(shape.vocabulary);
  const metadata: Record<string, GgufValue> = {
    "general.architecture": { type: "string", value: shape.architecture },
    "general.name": { type: "string", value: `random ${name}` },
    "general.description": { type: "string", value: `Random weights (seed ${seed}): for measuring, not for reading` },
    "general.file_type": { type: "uint32", value: FILE_TYPE[shape.kind] },
    ...shape.metadata,
    ...vocabularyMetadata(vocabulary),
  };
  const tensors = shape.tensors(vocabulary.unlikely).map((tensor, stream) => {
    // llama.cpp requires float vectors for every matrix type
    return randomTensor(tensor, tensor.dims.length === 1 ? "f32" : shape.kind, seed, stream);
  });
  return writeGguf(path, metadata, tensors, onBytes);
}
