import type { LocalFacts } from "../../protocol/config.ts";

/** The properties in a model's header that decide the memory of its layers. Numbers are null where the file has none. */
export interface LayerFacts {
  memory: LocalFacts["memory"];
  layers: number;
  /** Heads of keys and values in the first layer, by llama.cpp. */
  kvHeads: number;
  heads: number;
  width: number;
  /** A number under `{architecture}.` in the file. */
  number(key: string): number | null;
  /** The same for a list with one number for each layer; empty where there is none. */
  list(key: string): readonly number[];
}

/** The memory of one sequence, over all layers. */
export interface LayerMemory {
  /** Heads of keys and values of one token. */
  kvHeads: number;
  /** Bytes of state of one sequence of any length. */
  stateBytes: number;
}

/** @param window tokens over which some layers attend; 0 where all attend to the whole context */
export function memoryKind(of: { recurrent: boolean; hybrid: boolean; window: number }): LocalFacts["memory"] {
  if (of.recurrent) return "recurrent";
  if (of.hybrid) return "hybrid";
  return of.window > 0 ? "sliding-window" : "full";
}

/** Bytes of one number of a recurrent layer's state, which llama.cpp keeps as 32-bit floats. */
const STATE_BYTES = 4;
/** Architectures whose files may leave out the interval between two layers that attend. */
const USUAL_INTERVAL = /^(qwen3next|qwen35|qwen35moe)$/;

/** Adds up layer by layer: in hybrid models some attend, and some keep a state of constant size. */
export function layerMemory(architecture: string, facts: LayerFacts): LayerMemory {
  const heads = facts.list("attention.head_count_kv");
  const marked = facts.list("attention.recurrent_layers");
  const interval = facts.number("full_attention_interval") ?? (USUAL_INTERVAL.test(architecture) ? 4 : null);
  const stateBytes = STATE_BYTES * stateSize(facts);
  const all: LayerMemory = { kvHeads: 0, stateBytes: 0 };
  for (let layer = 0; layer < facts.layers; layer++) {
    const kvHeads = heads[layer] ?? facts.kvHeads;
    const recurs = () => {
      if (facts.memory === "recurrent") return { attends: false, keeps: true };
      if (facts.memory !== "hybrid") return { attends: true, keeps: false };
      if (marked.length > 0) return { attends: marked[layer] !== 1, keeps: marked[layer] === 1 };
      if (heads.length > 0) return { attends: kvHeads > 0, keeps: kvHeads === 0 };
      if (interval === null) return { attends: true, keeps: true };
      return { attends: (layer + 1) % interval === 0, keeps: (layer + 1) % interval !== 0 };
    };
    const { attends, keeps } = recurs();
    if (attends) all.kvHeads += kvHeads;
    if (keeps) all.stateBytes += stateBytes;
  }
  return all;
}

/** Numbers of a sequence's state in a recurrent layer (llama_hparams::n_embd_r and n_embd_s of llama.cpp's pinned release). */
function stateSize({ number, heads, width }: LayerFacts): number {
  const of = (key: string) => number(key) ?? 0;
  const kernel = of("ssm.conv_kernel");
  const wkv = of("wkv.head_size");
  if (wkv > 0) return (number("token_shift_count") ?? 2) * width + width * wkv;
  const shortConvolution = of("shortconv.l_cache");
  if (shortConvolution > 0) return width * (shortConvolution - 1);
  const kda = of("kda.head_dim");
  if (kda > 0) return 3 * (kernel > 0 ? kernel - 1 : 3) * heads * kda + kda * kda * heads;
  const [inner, state, groups] = [of("ssm.inner_size"), of("ssm.state_size"), of("ssm.group_count")];
  return Math.max(0, kernel - 1) * (inner + 2 * groups * state) + state * inner;
}
