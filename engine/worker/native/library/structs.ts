import koffi from "koffi";

/** An address in native memory; null is NULL. */
export type Pointer = bigint | null;

/** The llama.cpp release of the struct layouts below. */
export const RELEASE = "0.5.0";

export interface ModelParams {
  devices: Pointer;
  n_gpu_layers: number;
  split_mode: number;
  load_mode: number;
  no_alloc: boolean;
  main_gpu: number;
  progress_callback: Pointer;
  use_extra_bufts: boolean;
}

export interface ContextParams {
  n_ctx: number;
  n_batch: number;
  n_ubatch: number;
  n_seq_max: number;
  n_outputs_max: number;
  n_threads: number;
  n_threads_batch: number;
  flash_attn_type: number;
  type_k: number;
  type_v: number;
  offload_kqv: boolean;
  no_perf: boolean;
  swa_full: boolean;
  kv_unified: boolean;
  embeddings: boolean;
  pooling_type: number;
}

export interface BatchStruct {
  n_tokens: number;
  token: Pointer;
  embd: Pointer;
  pos: Pointer;
  n_seq_id: Pointer;
  seq_id: Pointer;
  logits: Pointer;
}

export const MODEL_PARAMS = koffi.struct("llama_model_params", {
  devices: "void*",
  tensor_buft_overrides: "void*",
  n_gpu_layers: "int32",
  split_mode: "int",
  load_mode: "int",
  lazy_mode: "int",
  main_gpu: "int32",
  tensor_split: "void*",
  progress_callback: "void*",
  progress_callback_user_data: "void*",
  kv_overrides: "void*",
  vocab_only: "bool",
  check_tensors: "bool",
  use_extra_bufts: "bool",
  no_host: "bool",
  no_alloc: "bool",
  load_mtp: "bool",
});

export const CONTEXT_PARAMS = koffi.struct("llama_context_params", {
  n_ctx: "uint32",
  n_batch: "uint32",
  n_ubatch: "uint32",
  n_seq_max: "uint32",
  n_rs_seq: "uint32",
  n_outputs_max: "uint32",
  n_outputs_max_per_seq: "uint32",
  n_threads: "int32",
  n_threads_batch: "int32",
  ctx_type: "int",
  rope_scaling_type: "int",
  pooling_type: "int",
  attention_type: "int",
  flash_attn_type: "int",
  rope_freq_base: "float",
  rope_freq_scale: "float",
  yarn_ext_factor: "float",
  yarn_attn_factor: "float",
  yarn_beta_fast: "float",
  yarn_beta_slow: "float",
  yarn_orig_ctx: "uint32",
  defrag_thold: "float",
  cb_eval: "void*",
  cb_eval_user_data: "void*",
  type_k: "int",
  type_v: "int",
  abort_callback: "void*",
  abort_callback_data: "void*",
  embeddings: "bool",
  offload_kqv: "bool",
  no_perf: "bool",
  op_offload: "bool",
  swa_full: "bool",
  kv_unified: "bool",
  samplers: "void*",
  n_samplers: "size_t",
  ctx_other: "void*",
});

koffi.struct("llama_batch", {
  n_tokens: "int32",
  token: "void*",
  embd: "void*",
  pos: "void*",
  n_seq_id: "void*",
  seq_id: "void*",
  logits: "void*",
});
koffi.struct("llama_sampler_chain_params", { no_perf: "bool" });
export const LOG_CALLBACK = koffi.proto("void log_callback(int level, const char* text, void* user)");
export const PROGRESS_CALLBACK = koffi.proto("bool progress_callback(float progress, void* user)");

/** The name of gguf_init_params among koffi's types. */
export const GGUF_INIT_PARAMS = "gguf_init_params";
koffi.struct(GGUF_INIT_PARAMS, { no_alloc: "bool", ctx: "void*" });
