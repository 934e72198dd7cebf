import { writeAdapter } from "../../bench/models/adapter.ts";

/** The demo model's width and number of layers. */
const WIDTH = 128;
const LAYERS = 4;
const QUERIES = Array.from({ length: LAYERS }, (_, layer) => ({
  name: `blk.${layer}.attn_q.weight`,
  dims: [WIDTH, WIDTH],
}));

/** Writes a LoRA adapter for the demo model that changes its answers. */
export async function writeDemoAdapter(path: string, architecture = "llama", seed = 1): Promise<void> {
  await writeAdapter(path, architecture, QUERIES, seed);
}
