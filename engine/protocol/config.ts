import type { Objectives } from "./step.ts";

/** Tokens that most requests stay within. Without an option, no sequence has fewer while memory has room for them. */
export const USUAL_CONTEXT = 8192;

/** Long texts that an engine tokenizes at once, each on a thread. More would take cores from the steps: it is CPU work. */
export const TOKENIZED_AT_ONCE = 2;

export type KvKind = "split" | "unified";

/** The settings of one engine process. */
export interface EngineConfig {
  /** The name in clients' requests. */
  model: string;
  /** The GGUF file (of a split model, its first part). */
  path: string;
  /** LoRA adapters on top of its weights. */
  adapters: Adapter[];
  /** The longest request in tokens, prompt and output; null lets the memory plan choose. */
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
   * auto: the faster setting of the calibration. Without a calibration it is on, but off on a CPU with small attention heads,
   * where it is on for embedding batches of many tokens.
   */
  flashAttention: "auto" | "on" | "off";
  /** The directory with the step times of a model's first load; null times no steps. */
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
  /** Milliseconds without a step after which the server takes the process for hung, and kills it. */
  timeoutMs: number;
  /** Memory in bytes that weights and cache together may take; null measures what is free. */
  memory: number | null;
  /** Bytes of host memory for offloaded prefixes; null derives it from the free memory. */
  parkMemory: number | null;
  /** Most tokens of a chat's reasoning where the request sets no bound; null is without bound. */
  reasoningBudget: number | null;
  /** The prompts that share prefixes: those of one owner, or all. */
  cacheScope: CacheScope;
  /** One of `TOOL_FORMAT_NAMES`; null takes the format of the chat template. */
  toolFormat: string | null;
  /** Replaces the template in the model's file; null keeps that one. */
  chatTemplate: ChatTemplateFile | null;
}

/** A chat template in a file beside the model. */
export interface ChatTemplateFile {
  path: string;
  /** Jinja. */
  text: string;
}

/** A LoRA adapter in GGUF format; scale 0 has no effect, 1 the trained one. */
export interface Adapter {
  path: string;
  scale: number;
}

export const CACHE_SCOPES = ["owner", "global"] as const;
export type CacheScope = (typeof CACHE_SCOPES)[number];

export const CACHE_TYPES = ["f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0"] as const;
export type CacheType = (typeof CACHE_TYPES)[number];

/** The memory that a model needs, by its header alone; in bytes. */
export interface ModelNeeds {
  /** With room for one request of the whole context, or for the cache that the options set; for a model that only embeds, all. */
  least: number;
  /** With room for as many as may run at once, and for embeddings beside them. */
  wanted: number;
  /** Free memory where weights and cache would lie. */
  free: number;
}

/** The properties of a model by its file's header. */
export interface ModelHeader {
  /** llama.cpp's one-line description, such as "llama 0.5B Q8_0". */
  description: string;
  architecture: string;
  parameters: number;
  /** Bytes of the weights. */
  bytes: number;
  trainedContext: number;
  memory: LocalFacts["memory"];
  /** False: the file has no chat template. */
  chatTemplate: boolean;
  /** False: the model only embeds, or ranks. */
  generates: boolean;
}

export interface ModelMeasurement extends ModelNeeds {
  header: ModelHeader;
}

/** The ways in which a model makes one vector of a text. */
export const POOLINGS = ["mean", "cls", "last", "rank"] as const;
export type Pooling = (typeof POOLINGS)[number];

export interface EmbeddingFacts {
  /** Null for a model of an upstream, which may embed or rank. */
  pooling: Pooling | null;
  /** Numbers in a vector; null where that is not known. */
  width: number | null;
  /** The longest input in tokens. */
  context: number;
}

/** The result of a calibration. */
export interface CalibrationFacts {
  /** Its duration in milliseconds; 0 where an earlier one of the same model, libraries and machine was read. */
  ms: number;
  /** Timed steps. */
  steps: number;
  /** Fewest tokens of a chunk that attention is efficient for; 1 where any number is. */
  tileRows: number;
}

/** The properties of a model that a local engine process has loaded. */
export interface LocalFacts {
  path: string;
  /** The adapters' file names and scales. */
  adapters: { name: string; scale: number }[];
  architecture: string;
  parameters: number;
  /** Bytes of the weights. */
  bytes: number;
  trainedContext: number;
  kv: KvKind;
  /** KV cells in all, and the bytes they take. */
  cells: number;
  cacheBytes: number;
  /** Host memory in bytes for offloaded prefixes. */
  parkBytes: number;
  /** The compute backend in use: cpu, cuda, vulkan, metal. */
  backend: string;
  /** Names of the devices that hold weights, as the backend reports them. */
  devices: string[];
  threads: number;
  stepTokens: number;
  /** Whether steps are computed with flash attention; auto where llama.cpp chose. */
  flashAttention: EngineConfig["flashAttention"];
  /** Null: no steps were timed before the first request. */
  calibration: CalibrationFacts | null;
  /** On full any first tokens of a prefix are reused, on the others a prefix as a whole. */
  memory: "full" | "sliding-window" | "recurrent" | "hybrid";
  /** False: the model has no template of its own, and ChatML is used. */
  chatTemplate: boolean;
  /** The file of the template in use; null for the model's own file. */
  templateFile: string | null;
  /** The llama.cpp release and where its library lies. */
  build: string;
  libraryDir: string;
}

/** The properties of a model that an upstream computes. */
export interface UpstreamFacts {
  /** The upstream's configured name. */
  name: string;
  /** Parts of requests that it does not take; they are refused before they are sent. */
  refuses: readonly RequestFeature[];
}

/** The parts of requests that some upstreams do not take, by the name that errors give them. */
export const REQUEST_FEATURES = [
  "tools",
  "a GBNF grammar",
  "prompts of tokens",
  "log probabilities of the prompt",
  "logit_bias",
  "a prefilled answer",
  "top_k and min_p",
  "repetition_penalty",
  "samplers of llama.cpp",
  "ignore_eos",
  "min_tokens and stop_token_ids",
  "chat_template_kwargs",
  "a reasoning budget",
] as const;
export type RequestFeature = (typeof REQUEST_FEATURES)[number];

/** The properties of a model that is ready. */
export interface ModelFacts {
  model: string;
  /** One line, such as llama.cpp's "llama 0.5B Q8_0". */
  description: string;
  /** Tokens of prompt and answer together, at most. */
  context: number;
  /** Sequences that run at once, at most. */
  sequences: number;
  /** Token ids run from 0 to one less; null where the ids are not known. */
  vocabulary: number | null;
  /** The objectives before the first request. */
  objectives: Objectives;
  /** The format of its tool calls: one of `TOOL_FORMAT_NAMES`; empty where the model does not generate, or another server reads the calls. */
  toolFormat: string;
  /** False: requests with tools are refused. */
  takesTools: boolean;
  /** The tags around its reasoning; null where it has none, or its format has marks of its own. */
  reasoningTags: { open: string; close: string } | null;
  /** False: the model only embeds, or ranks. */
  generates: boolean;
  /** True: the model has fill-in-the-middle tokens, so that it can write the text between a prefix and a suffix. */
  infill: boolean;
  /** Null: there is no memory for embeddings. */
  embedding: EmbeddingFacts | null;
  /**
   * Equal fingerprints give equal results for equal seeds, as far as the backend does. Of a local model, a hash of its name, its
   * files and adapters, a chat template beside them, the types of its cache, the backend and the build of llama.cpp; of the
   * weights it has a sample of every tensor.
   */
  fingerprint: string;
  /** Null for a model of an upstream. */
  local: LocalFacts | null;
  /** Null for a model of a local engine process. */
  upstream: UpstreamFacts | null;
}

/** Of a model of a local engine process. */
export type LoadedFacts = ModelFacts & { local: LocalFacts };
