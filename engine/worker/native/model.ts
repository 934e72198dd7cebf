import { basename } from "node:path";
import koffi from "koffi";
import { type EngineConfig, type LocalFacts, POOLINGS, type Pooling } from "../../protocol/config.ts";
import { type LayerMemory, layerMemory, memoryKind } from "./layer-memory.ts";
import type { Llama } from "./library/bindings.ts";
import { call } from "./library/ffi-call.ts";
import { GgufHeader } from "./library/gguf-header.ts";
import type { Device, Library } from "./library/library.ts";
import { type Pointer, PROGRESS_CALLBACK } from "./library/structs.ts";
import type { MemoryFacts } from "./memory-plan.ts";
import { Vocabulary } from "./vocabulary.ts";

const SPLIT_MODES = { none: 0, layer: 1, row: 2 } as const;
const ALL_LAYERS = -1;
/** enum llama_load_mode: weights are neither mapped nor read */
const NO_LOAD_MODE = 0;

/** Bytes of one element of the cache, by type. */
const CACHE_TYPE_BYTES = {
  f32: 4,
  f16: 2,
  bf16: 2,
  q8_0: 34 / 32,
  q5_1: 24 / 32,
  q5_0: 22 / 32,
  q4_1: 20 / 32,
  q4_0: 18 / 32,
};

/** Loaded weights and their properties. */
export class Model {
  readonly pointer: Pointer;
  readonly vocabulary: Vocabulary;
  readonly chatTemplate: string | null;
  readonly architecture: string;
  readonly memory: LocalFacts["memory"];
  /** The pooling of an embedding model, by its file; null for a model that generates. */
  readonly pooling: Pooling | null;
  /** The prompt of a model that ranks, with {query} and {document}; null for the usual pair. */
  readonly rankTemplate: string | null;
  /** The devices that hold weights. */
  readonly devices: Device[];
  readonly #llama: Llama;
  readonly #layers: LayerMemory;

  constructor(library: Library, pointer: Pointer, devices: Device[], path: string) {
    this.#llama = library.llama;
    this.pointer = pointer;
    this.devices = devices;
    this.vocabulary = new Vocabulary(library.llama, library.llama.llama_model_get_vocab(pointer));
    this.chatTemplate = library.llama.llama_model_chat_template(pointer, null);
    this.architecture = this.metadata("general.architecture") ?? "unknown";
    this.memory = this.#memoryKind();
    this.#layers = this.#layerMemory(library, path);
    // In llama.cpp's numbers 0 is none, and 1 to 4 have this order.
    this.pooling = POOLINGS[Number(this.metadata(`${this.architecture}.pooling_type`) ?? 0) - 1] ?? null;
    this.rankTemplate = this.pooling === "rank" ? library.llama.llama_model_chat_template(pointer, "rerank") : null;
  }

  /** Such as "llama 0.5B Q8_0". llama.cpp names the size of common shapes alone, and "?B" for all others. */
  get description(): string {
    const buffer = new Uint8Array(256);
    const length = this.#llama.llama_model_desc(this.pointer, buffer, buffer.length);
    const text = Buffer.from(buffer.subarray(0, Math.min(length, buffer.length - 1))).toString();
    const [count, unit] = this.parameters < 1e9 ? [this.parameters / 1e6, "M"] : [this.parameters / 1e9, "B"];
    return text.replace("?B", `${Number(count.toPrecision(2))}${unit}`);
  }

  get bytes(): number {
    return Number(this.#llama.llama_model_size(this.pointer));
  }

  get parameters(): number {
    return Number(this.#llama.llama_model_n_params(this.pointer));
  }

  get trainedContext(): number {
    return this.#llama.llama_model_n_ctx_train(this.pointer);
  }

  /** Numbers in a vector of this pooling. */
  vectorWidth(pooling: Pooling): number {
    const { llama_model_n_cls_out: scores, llama_model_n_embd_out: width } = this.#llama;
    return pooling === "rank" ? scores(this.pointer) : width(this.pointer);
  }

  /** Tokens over which the layers with a sliding window attend, 0 without such layers; null where a layer keeps a recurrent state. */
  get window(): number | null {
    if (this.memory === "recurrent" || this.memory === "hybrid") return null;
    return this.#llama.llama_model_n_swa(this.pointer);
  }

  /** Whether any layer has a sliding window. */
  get hasWindows(): boolean {
    return this.#llama.llama_model_n_swa(this.pointer) > 0;
  }

  get heads(): number {
    return this.#llama.llama_model_n_head(this.pointer);
  }

  /** Numbers in one head's key. */
  get headSize(): number {
    const width = this.#llama.llama_model_n_embd(this.pointer);
    const heads = Math.max(1, this.#llama.llama_model_n_head(this.pointer));
    return Number(this.metadata(`${this.architecture}.attention.key_length`) ?? width / heads);
  }

  metadata(key: string): string | null {
    const buffer = new Uint8Array(256);
    const length = this.#llama.llama_model_meta_val_str(this.pointer, key, buffer, buffer.length);
    return length < 0 ? null : Buffer.from(buffer.subarray(0, Math.min(length, buffer.length - 1))).toString();
  }

  /** @param free free memory where the weights lie, before they were loaded */
  memoryFacts(config: EngineConfig, free: { model: number; onGpu: boolean }): MemoryFacts {
    const { kvHeads, stateBytes } = this.#layers;
    const keys = this.headSize;
    const values = Number(this.metadata(`${this.architecture}.attention.value_length`) ?? keys);
    const perHead = keys * CACHE_TYPE_BYTES[config.cacheTypeK] + values * CACHE_TYPE_BYTES[config.cacheTypeV];
    return {
      trainedContext: this.trainedContext,
      cellBytes: kvHeads * perHead,
      stateBytes,
      weightBytes: this.bytes,
      freeBytes: free.model,
      onGpu: free.onGpu,
      memory: this.memory,
    };
  }

  #layerMemory(library: Library, path: string): LayerMemory {
    const llama = this.#llama;
    const { pointer, architecture, memory } = this;
    const named = (key: string) => `${architecture}.${key}`;
    const lists = ["attention.head_count_kv", "attention.recurrent_layers"].map(named);
    const header = new GgufHeader(library.gguf, path, lists);
    return layerMemory(architecture, {
      memory,
      layers: llama.llama_model_n_layer(pointer),
      kvHeads: llama.llama_model_n_head_kv(pointer),
      heads: llama.llama_model_n_head(pointer),
      width: llama.llama_model_n_embd(pointer),
      number: (key) => {
        const text = this.metadata(named(key));
        return text === null ? null : Number(text);
      },
      list: (key) => header.list(named(key)),
    });
  }

  #memoryKind(): LocalFacts["memory"] {
    return memoryKind({
      recurrent: this.#llama.llama_model_is_recurrent(this.pointer),
      hybrid: this.#llama.llama_model_is_hybrid(this.pointer),
      window: this.#llama.llama_model_n_swa(this.pointer),
    });
  }
}

/**
 * Loads the weights on another thread.
 *
 * @param progress called with 0 to 1
 * @param headerAlone reads no weights: the model has all of its properties and can't compute
 * @throws Error with llama.cpp's message when the file is missing, corrupt or of an unknown architecture
 */
export async function loadModel(
  library: Library,
  config: EngineConfig,
  progress: (share: number) => void,
  headerAlone = false,
): Promise<Model> {
  const { llama } = library;
  const gpus = library.devices.filter((device) => device.kind === "gpu");
  const layers = config.gpu === "off" ? 0 : config.gpu === "auto" ? ALL_LAYERS : config.gpu;
  let reported = -1;
  const onProgress = koffi.register((share: number) => {
    const percent = Math.floor(share * 100);
    if (percent > reported) progress(share);
    reported = percent;
    return true;
  }, koffi.pointer(PROGRESS_CALLBACK));
  try {
    const pointer = await call(llama.llama_model_load_from_file, config.path, {
      ...llama.llama_model_default_params(),
      n_gpu_layers: gpus.length === 0 ? 0 : layers,
      split_mode: SPLIT_MODES[config.splitMode],
      progress_callback: onProgress,
      ...(headerAlone && { no_alloc: true, load_mode: NO_LOAD_MODE }),
    });
    if (!pointer) throw new Error(loadFailure(library, config.path));
    const cpus = library.devices.filter((device) => device.kind === "cpu");
    const model = new Model(library, pointer, gpus.length > 0 && layers !== 0 ? gpus : cpus, config.path);
    checkUsable(llama, model, config.path);
    return model;
  } finally {
    koffi.unregister(onProgress);
  }
}

function checkUsable(llama: Llama, model: Model, path: string): void {
  if (!llama.llama_model_has_decoder(model.pointer) || llama.llama_model_is_diffusion(model.pointer))
    throw new Error(`${basename(path)} (${model.architecture}) does not generate text token by token.`);
  if (llama.llama_model_has_encoder(model.pointer))
    throw new Error(`${basename(path)} (${model.architecture}) is an encoder-decoder model, which is not supported.`);
}

function loadFailure(library: Library, path: string): string {
  const reasons = library.complaints().map((line) => line.replace(/^\w+: /, ""));
  const reason = reasons.filter((line) => !/^failed to load model|error loading model:?$/.test(line)).at(-1);
  return `${basename(path)} could not be loaded: ${reason ?? "llama.cpp gave no reason"}.`;
}
