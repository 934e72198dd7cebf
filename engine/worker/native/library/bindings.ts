import koffi, { type KoffiFunc, type LibraryHandle } from "koffi";
import {
  type BatchStruct,
  CONTEXT_PARAMS,
  type ContextParams,
  MODEL_PARAMS,
  type ModelParams,
  type Pointer,
  RELEASE,
} from "./structs.ts";

/** The used functions of libllama; names and meanings are those of llama.h. */
export interface LlamaFunctions {
  llama_log_set(callback: Pointer, user: Pointer): void;
  llama_backend_init(): void;
  llama_version(): string;
  llama_model_default_params(): ModelParams;
  llama_model_load_from_file(path: string, params: ModelParams): Pointer;
  llama_model_free(model: Pointer): void;
  llama_model_get_vocab(model: Pointer): Pointer;
  llama_model_desc(model: Pointer, buffer: Uint8Array, size: number): number;
  llama_model_meta_val_str(model: Pointer, key: string, buffer: Uint8Array, size: number): number;
  llama_model_size(model: Pointer): number;
  llama_model_n_params(model: Pointer): number;
  llama_model_n_ctx_train(model: Pointer): number;
  llama_model_n_layer(model: Pointer): number;
  llama_model_n_embd(model: Pointer): number;
  llama_model_n_embd_out(model: Pointer): number;
  llama_model_n_cls_out(model: Pointer): number;
  llama_model_n_head(model: Pointer): number;
  llama_model_n_head_kv(model: Pointer): number;
  llama_model_n_swa(model: Pointer): number;
  llama_model_is_recurrent(model: Pointer): boolean;
  llama_model_is_hybrid(model: Pointer): boolean;
  llama_model_is_diffusion(model: Pointer): boolean;
  llama_model_has_encoder(model: Pointer): boolean;
  llama_model_has_decoder(model: Pointer): boolean;
  llama_model_chat_template(model: Pointer, name: string | null): string | null;
  llama_adapter_lora_init(model: Pointer, path: string): Pointer;
  llama_adapter_get_alora_n_invocation_tokens(adapter: Pointer): number | bigint;
  llama_set_adapters_lora(context: Pointer, adapters: BigUint64Array, count: number, scales: Float32Array): number;
  llama_vocab_n_tokens(vocab: Pointer): number;
  llama_vocab_get_attr(vocab: Pointer, token: number): number;
  llama_vocab_is_eog(vocab: Pointer, token: number): boolean;
  llama_vocab_bos(vocab: Pointer): number;
  llama_vocab_eos(vocab: Pointer): number;
  llama_vocab_get_add_bos(vocab: Pointer): boolean;
  llama_vocab_get_add_eos(vocab: Pointer): boolean;
  llama_vocab_get_add_sep(vocab: Pointer): boolean;
  llama_vocab_sep(vocab: Pointer): number;
  llama_vocab_fim_pre(vocab: Pointer): number;
  llama_vocab_fim_suf(vocab: Pointer): number;
  llama_vocab_fim_mid(vocab: Pointer): number;
  llama_vocab_fim_rep(vocab: Pointer): number;
  llama_vocab_fim_sep(vocab: Pointer): number;
  llama_tokenize(
    vocab: Pointer,
    text: Uint8Array,
    bytes: number,
    tokens: Int32Array,
    capacity: number,
    addSpecial: boolean,
    parseSpecial: boolean,
  ): number;
  llama_token_to_piece(
    vocab: Pointer,
    token: number,
    buffer: Uint8Array,
    size: number,
    lstrip: number,
    special: boolean,
  ): number;
  llama_detokenize(
    vocab: Pointer,
    tokens: Int32Array,
    count: number,
    buffer: Uint8Array,
    size: number,
    removeSpecial: boolean,
    unparseSpecial: boolean,
  ): number;
  llama_context_default_params(): ContextParams;
  llama_init_from_model(model: Pointer, params: ContextParams): Pointer;
  llama_free(context: Pointer): void;
  llama_n_ctx(context: Pointer): number;
  llama_n_ctx_seq(context: Pointer): number;
  llama_get_memory(context: Pointer): Pointer;
  llama_decode(context: Pointer, batch: BatchStruct): number;
  llama_synchronize(context: Pointer): void;
  llama_get_logits_ith(context: Pointer, row: number): Pointer;
  llama_get_embeddings_seq(context: Pointer, id: number): Pointer;
  llama_memory_clear(memory: Pointer, data: boolean): void;
  llama_memory_seq_rm(memory: Pointer, id: number, from: number, to: number): boolean;
  llama_memory_seq_pos_min(memory: Pointer, id: number): number;
  llama_memory_seq_cp(memory: Pointer, source: number, target: number, from: number, to: number): void;
  llama_state_seq_get_size_ext(context: Pointer, id: number, flags: number): number;
  llama_state_seq_get_data_ext(context: Pointer, state: Uint8Array, size: number, id: number, flags: number): number;
  llama_state_seq_set_data_ext(context: Pointer, state: Uint8Array, size: number, id: number, flags: number): number;
  llama_sampler_chain_init(params: { no_perf: boolean }): Pointer;
  llama_sampler_chain_add(chain: Pointer, sampler: Pointer): void;
  llama_sampler_free(sampler: Pointer): void;
  llama_sampler_sample(sampler: Pointer, context: Pointer, row: number): number;
  llama_sampler_init_dist(seed: number): Pointer;
  llama_sampler_init_top_k(k: number): Pointer;
  llama_sampler_init_top_p(p: number, minKeep: number): Pointer;
  llama_sampler_init_min_p(p: number, minKeep: number): Pointer;
  llama_sampler_init_typical(p: number, minKeep: number): Pointer;
  llama_sampler_init_top_n_sigma(n: number): Pointer;
  llama_sampler_init_xtc(probability: number, threshold: number, minKeep: number, seed: number): Pointer;
  llama_sampler_init_temp(temperature: number): Pointer;
  llama_sampler_init_temp_ext(temperature: number, range: number, exponent: number): Pointer;
  llama_sampler_init_mirostat(vocabulary: number, seed: number, tau: number, eta: number, m: number): Pointer;
  llama_sampler_init_mirostat_v2(seed: number, tau: number, eta: number): Pointer;
}

const LLAMA: Record<keyof LlamaFunctions, [result: string, parameters: string[]]> = {
  llama_log_set: ["void", ["void*", "void*"]],
  llama_backend_init: ["void", []],
  llama_version: ["const char*", []],
  llama_model_default_params: ["llama_model_params", []],
  llama_model_load_from_file: ["void*", ["const char*", "llama_model_params"]],
  llama_model_free: ["void", ["void*"]],
  llama_model_get_vocab: ["void*", ["void*"]],
  llama_model_desc: ["int32", ["void*", "_Out_ uint8_t*", "size_t"]],
  llama_model_meta_val_str: ["int32", ["void*", "const char*", "_Out_ uint8_t*", "size_t"]],
  llama_model_size: ["uint64", ["void*"]],
  llama_model_n_params: ["uint64", ["void*"]],
  llama_model_n_ctx_train: ["int32", ["void*"]],
  llama_model_n_layer: ["int32", ["void*"]],
  llama_model_n_embd: ["int32", ["void*"]],
  llama_model_n_embd_out: ["int32", ["void*"]],
  llama_model_n_cls_out: ["uint32", ["void*"]],
  llama_model_n_head: ["int32", ["void*"]],
  llama_model_n_head_kv: ["int32", ["void*"]],
  llama_model_n_swa: ["int32", ["void*"]],
  llama_model_is_recurrent: ["bool", ["void*"]],
  llama_model_is_hybrid: ["bool", ["void*"]],
  llama_model_is_diffusion: ["bool", ["void*"]],
  llama_model_has_encoder: ["bool", ["void*"]],
  llama_model_has_decoder: ["bool", ["void*"]],
  llama_model_chat_template: ["const char*", ["void*", "const char*"]],
  llama_adapter_lora_init: ["void*", ["void*", "const char*"]],
  llama_adapter_get_alora_n_invocation_tokens: ["uint64", ["void*"]],
  llama_set_adapters_lora: ["int32", ["void*", "void*", "size_t", "void*"]],
  llama_vocab_n_tokens: ["int32", ["void*"]],
  llama_vocab_get_attr: ["int", ["void*", "int32"]],
  llama_vocab_is_eog: ["bool", ["void*", "int32"]],
  llama_vocab_bos: ["int32", ["void*"]],
  llama_vocab_eos: ["int32", ["void*"]],
  llama_vocab_get_add_bos: ["bool", ["void*"]],
  llama_vocab_get_add_eos: ["bool", ["void*"]],
  llama_vocab_get_add_sep: ["bool", ["void*"]],
  llama_vocab_sep: ["int32", ["void*"]],
  llama_vocab_fim_pre: ["int32", ["void*"]],
  llama_vocab_fim_suf: ["int32", ["void*"]],
  llama_vocab_fim_mid: ["int32", ["void*"]],
  llama_vocab_fim_rep: ["int32", ["void*"]],
  llama_vocab_fim_sep: ["int32", ["void*"]],
  llama_tokenize: ["int32", ["void*", "const uint8_t*", "int32", "_Out_ int32*", "int32", "bool", "bool"]],
  llama_token_to_piece: ["int32", ["void*", "int32", "_Out_ uint8_t*", "int32", "int32", "bool"]],
  llama_detokenize: ["int32", ["void*", "int32*", "int32", "_Out_ uint8_t*", "int32", "bool", "bool"]],
  llama_context_default_params: ["llama_context_params", []],
  llama_init_from_model: ["void*", ["void*", "llama_context_params"]],
  llama_free: ["void", ["void*"]],
  llama_n_ctx: ["uint32", ["void*"]],
  llama_n_ctx_seq: ["uint32", ["void*"]],
  llama_get_memory: ["void*", ["void*"]],
  llama_decode: ["int32", ["void*", "llama_batch"]],
  llama_synchronize: ["void", ["void*"]],
  llama_get_logits_ith: ["void*", ["void*", "int32"]],
  llama_get_embeddings_seq: ["void*", ["void*", "int32"]],
  llama_memory_clear: ["void", ["void*", "bool"]],
  llama_memory_seq_rm: ["bool", ["void*", "int32", "int32", "int32"]],
  llama_memory_seq_pos_min: ["int32", ["void*", "int32"]],
  llama_memory_seq_cp: ["void", ["void*", "int32", "int32", "int32", "int32"]],
  // Plain addresses: states are large, and a typed parameter would be copied.
  llama_state_seq_get_size_ext: ["size_t", ["void*", "int32", "uint32"]],
  llama_state_seq_get_data_ext: ["size_t", ["void*", "void*", "size_t", "int32", "uint32"]],
  llama_state_seq_set_data_ext: ["size_t", ["void*", "void*", "size_t", "int32", "uint32"]],
  llama_sampler_chain_init: ["void*", ["llama_sampler_chain_params"]],
  llama_sampler_chain_add: ["void", ["void*", "void*"]],
  llama_sampler_free: ["void", ["void*"]],
  llama_sampler_sample: ["int32", ["void*", "void*", "int32"]],
  llama_sampler_init_dist: ["void*", ["uint32"]],
  llama_sampler_init_top_k: ["void*", ["int32"]],
  llama_sampler_init_top_p: ["void*", ["float", "size_t"]],
  llama_sampler_init_min_p: ["void*", ["float", "size_t"]],
  llama_sampler_init_typical: ["void*", ["float", "size_t"]],
  llama_sampler_init_top_n_sigma: ["void*", ["float"]],
  llama_sampler_init_xtc: ["void*", ["float", "float", "size_t", "uint32"]],
  llama_sampler_init_temp: ["void*", ["float"]],
  llama_sampler_init_temp_ext: ["void*", ["float", "float", "float"]],
  llama_sampler_init_mirostat: ["void*", ["int32", "uint32", "float", "float", "int32"]],
  llama_sampler_init_mirostat_v2: ["void*", ["uint32", "float", "float"]],
};

export type Bound<F> = {
  [K in keyof F]: F[K] extends (...args: infer A) => infer R ? KoffiFunc<(...args: A) => R> : never;
};
export type Llama = Bound<LlamaFunctions>;

export function bind<F>(library: LibraryHandle, table: Record<keyof F, [string, string[]]>): Bound<F> {
  const bound: Partial<Record<keyof F, unknown>> = {};
  for (const name of Object.keys(table) as (keyof F & string)[]) {
    const [result, parameters] = table[name];
    bound[name] = library.func(name, result, parameters);
  }
  return bound as Bound<F>;
}

export const bindLlama = (library: LibraryHandle): Llama => bind<LlamaFunctions>(library, LLAMA);

/**
 * Structs pass by value, so a library of another release would read garbage. The sizes of both structs and the defaults at
 * known offsets reveal another layout before a function is called with it.
 *
 * @throws Error that names both releases
 */
export function checkAbi(llama: Llama, directory: string): void {
  const defaults = llama.llama_context_default_params();
  const seen = [
    koffi.sizeof(CONTEXT_PARAMS),
    koffi.sizeof(MODEL_PARAMS),
    defaults.n_ctx,
    defaults.n_batch,
    defaults.n_ubatch,
  ].join();
  const version = llama.llama_version();
  if (seen === "160,80,512,2048,512" && version.startsWith(RELEASE)) return;
  throw new Error(
    `libllama in ${directory} is llama.cpp ${version || "of an unknown release"} (${seen}), but this program was written ` +
      `for ${RELEASE} (160,80,512,2048,512). Build llama.cpp ${RELEASE}, or leave out --llama-dir to use the bundled library.`,
  );
}
