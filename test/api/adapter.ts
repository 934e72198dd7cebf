import { writeGguf } from "../../bench/models/gguf.ts";

const RANK = 4;
/** The demo model's width and number of layers. */
const WIDTH = 128;
const LAYERS = 4;

/** Writes a LoRA adapter with pseudo-random weights for the demo model's query matrices, large enough to change answers. */
export async function writeAdapter(path: string, architecture = "llama", seed = 1): Promise<void> {
  let state = seed;
  const values = (count: number) => {
    const numbers = Float32Array.from({ length: count }, () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return (state / 2 ** 32 - 0.5) * 2;
    });
    return new Uint8Array(numbers.buffer);
  };
  const tensors = Array.from({ length: LAYERS }, (_, layer) => `blk.${layer}.attn_q.weight`).flatMap((name) => [
    { name: `${name}.lora_a`, dims: [WIDTH, RANK], kind: "f32" as const, chunks: () => [values(WIDTH * RANK)] },
    { name: `${name}.lora_b`, dims: [RANK, WIDTH], kind: "f32" as const, chunks: () => [values(WIDTH * RANK)] },
  ]);
  const metadata = {
    "general.type": { type: "string" as const, value: "adapter" },
    "general.architecture": { type: "string" as const, value: architecture },
    "adapter.type": { type: "string" as const, value: "lora" },
    "adapter.lora.alpha": { type: "float32" as const, value: RANK },
  };
  await writeGguf(path, metadata, tensors);
}
