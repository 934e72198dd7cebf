import { type GgufValue, writeGguf } from "./gguf.ts";
import type { Shape } from "./shapes.ts";

const RANK = 4;

/** A matrix that an adapter changes, as [input, output]. */
export interface AdaptedMatrix {
  name: string;
  dims: readonly number[];
}

/** The query matrices of a shape's layers. */
export function queryMatrices({ tensors }: Shape): AdaptedMatrix[] {
  return tensors([]).filter(({ name }) => name.endsWith(".attn_q.weight"));
}

/** Writes a LoRA adapter with pseudo-random weights, large enough to change answers. */
export async function writeAdapter(
  path: string,
  architecture: string,
  matrices: readonly AdaptedMatrix[],
  seed = 1,
): Promise<void> {
  let state = seed;
  const values = (count: number) => {
    const numbers = Float32Array.from({ length: count }, () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return (state / 2 ** 32 - 0.5) * 2;
    });
    return new Uint8Array(numbers.buffer);
  };
  const tensors = matrices.flatMap(({ name, dims: [input = 0, output = 0] }) => [
    { name: `${name}.lora_a`, dims: [input, RANK], kind: "f32" as const, chunks: () => [values(input * RANK)] },
    { name: `${name}.lora_b`, dims: [RANK, output], kind: "f32" as const, chunks: () => [values(RANK * output)] },
  ]);
  const metadata: Record<string, GgufValue> = {
    "general.type": { type: "string", value: "adapter" },
    "general.architecture": { type: "string", value: architecture },
    "adapter.type": { type: "string", value: "lora" },
    "adapter.lora.alpha": { type: "float32", value: RANK },
  };
  await writeGguf(path, metadata, tensors);
}
