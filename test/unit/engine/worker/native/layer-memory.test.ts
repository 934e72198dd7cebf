import { expect, test } from "vitest";
import { type LayerFacts, layerMemory } from "../../../../../engine/worker/native/layer-memory.ts";

function facts(
  numbers: Record<string, number>,
  lists: Record<string, number[]>,
  rest: Partial<LayerFacts>,
): LayerFacts {
  return {
    memory: "hybrid",
    layers: 4,
    kvHeads: 2,
    heads: 4,
    width: 64,
    number: (key) => numbers[key] ?? null,
    list: (key) => lists[key] ?? [],
    ...rest,
  };
}

const SSM = { "ssm.conv_kernel": 4, "ssm.inner_size": 128, "ssm.state_size": 8 };
const SSM_BYTES = 4 * (3 * 128 + 8 * 128);

test.each<[string, string, LayerFacts, number, number]>([
  ["all layers attend", "llama", facts({}, {}, { memory: "full" }), 8, 0],
  [
    "heads differ by layer, as in pruned models",
    "deci",
    facts({}, { "attention.head_count_kv": [2, 0, 4, 2] }, { memory: "full" }),
    8,
    0,
  ],
  [
    "alternating short convolutions and attention",
    "lfm2",
    facts({ "shortconv.l_cache": 3 }, { "attention.head_count_kv": [0, 2, 0, 2] }, { kvHeads: 0 }),
    4,
    2 * 4 * 64 * 2,
  ],
  ["no layer attends", "mamba", facts(SSM, {}, { memory: "recurrent", kvHeads: 0 }), 0, 4 * SSM_BYTES],
  ["every layer attends and has a state", "falcon-h1", facts(SSM, {}, {}), 8, 4 * SSM_BYTES],
  ["every fourth attends, by default of the architecture", "qwen3next", facts(SSM, {}, {}), 2, 3 * SSM_BYTES],
  ["every second attends", "qwen35", facts({ ...SSM, full_attention_interval: 2 }, {}, {}), 4, 2 * SSM_BYTES],
  [
    "recurrent layers are listed",
    "other",
    facts(SSM, { "attention.recurrent_layers": [1, 1, 1, 0] }, {}),
    2,
    3 * SSM_BYTES,
  ],
  ["RWKV", "rwkv7", facts({ "wkv.head_size": 16 }, {}, { memory: "recurrent", kvHeads: 0 }), 0, 4 * 4 * (128 + 1024)],
])("%s", (_, architecture, given, kvHeads, stateBytes) => {
  expect(layerMemory(architecture, given)).toEqual({ kvHeads, stateBytes });
});
