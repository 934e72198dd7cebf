import type { Objectives } from "./step.ts";

/** Tokens of context when the configuration says null, unless the model was trained for fewer. */
export const DEFAULT_CONTEXT = 8192;

/** Long texts that an engine tokenizes at once, each on a thread. It is CPU work: more would only take cores from the steps. */
export const TOKENIZED_AT_ONCE = 2;

export type KvKind = "split" | "unified";

/** What one engine process is started with. */
export interface EngineConfig {
  /** The name that clients ask for. */
  model: string;
  /** The GGUF file (of a split model, its first part). */
  path: string;
  /** LoRA adapters on top of its weights. */
  adapters: Adapter[];
  /** The longest request in tokens, prompt and output; null takes the model's trained context, at most 8,192. */
  context: number | null;
  /** Sequences that run at once. */
  sequences: number;
  kv: KvKind | "auto";
  /** Cells of a unified cache in all; null lets the engine choose. */
  cells: number | null;
  /** Compute threads; null takes cores − 1. */
  threads: number | null;
  /** Layers to put on the GPU; "auto" takes all that there is room for, "off" none. */
  gpu: "auto" | "off" | number;
  splitMode: "none" | "layer" | "row";
  cacheTypeK: CacheType;
  cacheTypeV: CacheType;
  /**
   * auto: as the calibration finds. Without one on, but off on a CPU where attention heads are too small for it to pay;
   * there on for many tokens of embeddings.
   */
  flashAttention: "auto" | "on" | "off";
  /** The directory that keeps what steps took when a model was first loaded; null does not time any. */
  calibrationDir: string | null;
  /** A directory with an own build of llama.cpp, else null. */
  llamaDir: string | null;
  /** Most tokens of one step (llama.cpp's n_ubatch). */
  stepTokens: number;
  /** Objectives of online work in milliseconds: time to first token, and between two tokens of a stream; auto derives them. */
  sloTtftMs: number | "auto";
  sloItlMs: number | "auto";
  /** The share by which flex and batch may lengthen a step that has online work. */
  batchTax: number;
  /** Most milliseconds of a step without online work; null derives it from the objective for the first token. */
  batchStepMs: number | null;
  /** Milliseconds without a step after which the server takes the process for hung, and ends it. */
  timeoutMs: number;
  /** Memory in bytes that weights and cache together may take; null measures what is free. */
  memory: number | null;
  /** Bytes of host memory for prefixes that the cache has no room for; null derives it from what is free. */
  parkMemory: number | null;
  /** Most tokens of a chat's thoughts where the request says nothing; null is without bound. */
  reasoningBudget: number | null;
  /** Whose prompts reuse whose: those of one owner alone, or everyone's. */
  cacheScope: CacheScope;
  /** One of `TOOL_FORMAT_NAMES`; null takes the one that the chat template asks for. */
  toolFormat: string | null;
}

/** A LoRA adapter in GGUF format; at scale 0 it changes nothing, at 1 what it was trained to. */
export interface Adapter {
  path: string;
  scale: number;
}

export const CACHE_SCOPES = ["owner", "global"] as const;
export type CacheScope = (typeof CACHE_SCOPES)[number];

export const CACHE_TYPES = ["f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0"] as const;
export type CacheType = (typeof CACHE_TYPES)[number];

/** What a model would take, told by its header alone; all in bytes. */
export interface ModelNeeds {
  /** With room for one request of the whole context, or for what the options ask of the cache; of one that only embeds, all. */
  least: number;
  /** With room for as many as may run at once, and for embeddings beside them. */
  wanted: number;
  /** What was free, where weights and cache would lie. */
  free: number;
}

/** How a model makes one vector of a text. */
export const POOLINGS = ["mean", "cls", "last", "rank"] as const;
export type Pooling = (typeof POOLINGS)[number];

export interface EmbeddingFacts {
  pooling: Pooling;
  /** Numbers in a vector. */
  width: number;
  /** The longest input in tokens. */
  context: number;
}

/** What a calibration came to. */
export interface CalibrationFacts {
  /** What it took; 0 where an earlier one of the same model, libraries and machine was read. */
  ms: number;
  /** Steps that were timed. */
  steps: number;
  /** Fewest tokens of a chunk that attention is efficient for; 1 where any number is. */
  tileRows: number;
}

/** What is known of a loaded model. */
export interface ModelFacts {
  model: string;
  path: string;
  /** The adapters' file names and scales. */
  adapters: { name: string; scale: number }[];
  /** llama.cpp's one-line description, such as "llama 0.5B Q8_0". */
  description: string;
  architecture: string;
  parameters: number;
  /** Bytes of the weights. */
  bytes: number;
  trainedContext: number;
  context: number;
  sequences: number;
  kv: KvKind;
  /** KV cells in all, and the bytes they take. */
  cells: number;
  cacheBytes: number;
  /** Host memory that prefixes may take which the cache has no room for. */
  parkBytes: number;
  vocabulary: number;
  /** The compute backend in use: cpu, cuda, vulkan, metal. */
  backend: string;
  /** Names of the devices that hold weights, as the backend tells them. */
  devices: string[];
  threads: number;
  stepTokens: number;
  /** Whether steps are computed with flash attention; auto where llama.cpp chose. */
  flashAttention: EngineConfig["flashAttention"];
  /** What steps were timed before the first request; null: none were. */
  calibration: CalibrationFacts | null;
  /** As they are before the first request. */
  objectives: Objectives;
  /** full, sliding-window, recurrent, hybrid: prefixes are reused on full alone. */
  memory: "full" | "sliding-window" | "recurrent" | "hybrid";
  /** False: the model has no template of its own and ChatML stands in. */
  chatTemplate: boolean;
  /** How the model writes tool calls: one of `TOOL_FORMAT_NAMES`; empty where it does not generate. */
  toolFormat: string;
  /** False: the model only embeds, or ranks. */
  generates: boolean;
  /** Null: there is no memory for it. */
  embedding: EmbeddingFacts | null;
  /** The llama.cpp release and where its library lies. */
  build: string;
  libraryDir: string;
  /**
   * Names the model's name and files, its adapters, the types of its cache, the backend and the build of llama.cpp: equal
   * fingerprints give equal results for equal seeds, as far as the backend does. Of weights it is a sample of every tensor.
   */
  fingerprint: string;
}
