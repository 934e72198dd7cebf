import { rmSync } from "node:fs";
import koffi from "koffi";
import { type GgufValue, writeGguf } from "../../../../bench/models/gguf.ts";
import { syntheticVocabulary, vocabularyMetadata } from "../../../../bench/models/vocabulary.ts";
import type { LocalFacts } from "../../../../engine/protocol/config.ts";
import { memoryKind } from "../../../../engine/worker/native/layer-memory.ts";
import { type Library, loadLibrary } from "../../../../engine/worker/native/library/library.ts";
import { LOG_CALLBACK } from "../../../../engine/worker/native/library/structs.ts";

const LAYERS = 6;
const number = (value: number): GgufValue => ({ type: "uint32", value });
const EPSILON: GgufValue = { type: "float32", value: 1e-5 };

/** Sizes that llama.cpp reads before any weights. Every file names a window: architectures without one ignore it. */
const SIZES: Record<string, GgufValue> = {
  context_length: number(1024),
  embedding_length: number(64),
  block_count: number(LAYERS),
  feed_forward_length: number(128),
  expert_count: number(4),
  expert_used_count: number(2),
  expert_feed_forward_length: number(32),
  expert_shared_count: number(1),
  expert_shared_feed_forward_length: number(32),
  expert_gating_func: number(2),
  leading_dense_block_count: number(1),
  "attention.head_count": number(4),
  "attention.head_count_kv": number(2),
  "attention.key_length": number(16),
  "attention.value_length": number(16),
  "attention.key_length_mla": number(24),
  "attention.value_length_mla": number(16),
  "attention.q_lora_rank": number(8),
  "attention.kv_lora_rank": number(8),
  "attention.layer_norm_rms_epsilon": EPSILON,
  "attention.layer_norm_epsilon": EPSILON,
  "attention.sliding_window": number(32),
  "rope.dimension_count": number(16),
  "rope.dimension_sections": { type: "int32s", value: [4, 4, 0, 0] },
  "shortconv.l_cache": number(3),
  "ssm.conv_kernel": number(4),
  "ssm.inner_size": number(128),
  "ssm.state_size": number(8),
  "ssm.time_step_rank": number(4),
  "ssm.group_count": number(1),
};

/** Entries of single architectures. */
const FURTHER: Record<string, Record<string, GgufValue>> = {
  gemma4: {
    "attention.sliding_window_pattern": { type: "int32s", value: [1, 1, 1, 1, 1, 0] },
    "attention.key_length_swa": number(16),
    "attention.value_length_swa": number(16),
    "rope.dimension_count_swa": number(16),
    embedding_length_per_layer_input: number(16),
  },
};

let library: Library | null = null;

/**
 * The kind of memory that llama.cpp gives a model of an architecture. It reads a file that has a header alone: whether layers
 * recur it says of the loaded header, and the window it logs before it misses the weights.
 */
export async function architectureMemory(architecture: string, path: string): Promise<LocalFacts["memory"]> {
  library ??= loadLibrary(null, false);
  const { llama } = library;
  const named = Object.entries({ ...SIZES, ...FURTHER[architecture] }).map(([key, value]) => [
    `${architecture}.${key}`,
    value,
  ]);
  const metadata: Record<string, GgufValue> = {
    "general.architecture": { type: "string", value: architecture },
    ...Object.fromEntries(named),
    ...vocabularyMetadata(syntheticVocabulary(512)),
  };
  await writeGguf(path, metadata, []);
  let logged = "";
  const log = koffi.register((_level: number, text: string) => {
    logged += text;
  }, koffi.pointer(LOG_CALLBACK));
  llama.llama_log_set(log, null);
  try {
    const load = (changed: object) =>
      llama.llama_model_load_from_file(path, Object.assign(llama.llama_model_default_params(), changed));
    const header = load({ vocab_only: true });
    if (!header) throw new Error(`llama.cpp does not know the architecture ${architecture}:\n${logged}`);
    logged = "";
    load({ no_alloc: true, load_mode: 0 });
    const window = /n_swa\s*= (\d+)/.exec(logged)?.[1];
    if (window === undefined) throw new Error(`llama.cpp read no window of ${architecture}:\n${logged}`);
    const recurrent = llama.llama_model_is_recurrent(header);
    const hybrid = llama.llama_model_is_hybrid(header);
    llama.llama_model_free(header);
    return memoryKind({ recurrent, hybrid, window: Number(window) });
  } finally {
    library.quiet();
    koffi.unregister(log);
    rmSync(path, { force: true });
  }
}
