import type { LibraryHandle } from "koffi";
import { type Bound, bind } from "./bindings.ts";
import { GGUF_INIT_PARAMS, type Pointer } from "./structs.ts";

/** ggml's registry of backends and devices (ggml-backend.h). */
interface GgmlFunctions {
  ggml_backend_load_all_from_path(directory: string): void;
  ggml_backend_load(path: string): Pointer;
  ggml_backend_dev_count(): number;
  ggml_backend_dev_get(index: number): Pointer;
}

const GGML: Record<keyof GgmlFunctions, [string, string[]]> = {
  ggml_backend_load_all_from_path: ["void", ["const char*"]],
  ggml_backend_load: ["void*", ["const char*"]],
  ggml_backend_dev_count: ["size_t", []],
  ggml_backend_dev_get: ["void*", ["size_t"]],
};

interface GgmlBaseFunctions {
  ggml_backend_dev_name(device: Pointer): string;
  ggml_backend_dev_description(device: Pointer): string;
  ggml_backend_dev_type(device: Pointer): number;
  ggml_backend_dev_memory(device: Pointer, free: BigUint64Array, total: BigUint64Array): void;
}

const GGML_BASE: Record<keyof GgmlBaseFunctions, [string, string[]]> = {
  ggml_backend_dev_name: ["const char*", ["void*"]],
  ggml_backend_dev_description: ["const char*", ["void*"]],
  ggml_backend_dev_type: ["int", ["void*"]],
  ggml_backend_dev_memory: ["void", ["void*", "_Out_ size_t*", "_Out_ size_t*"]],
};

/** Readers of a GGUF file's header (gguf.h). */
interface GgufFunctions {
  gguf_init_from_file(path: string, params: { no_alloc: boolean; ctx: Pointer }): Pointer;
  gguf_free(gguf: Pointer): void;
  gguf_get_data_offset(gguf: Pointer): number;
  gguf_find_key(gguf: Pointer, key: string): number;
  gguf_get_kv_type(gguf: Pointer, index: number): number;
  gguf_get_arr_type(gguf: Pointer, index: number): number;
  gguf_get_arr_n(gguf: Pointer, index: number): number;
  gguf_get_arr_data(gguf: Pointer, index: number): bigint;
  gguf_get_n_tensors(gguf: Pointer): number;
  gguf_get_tensor_offset(gguf: Pointer, index: number): number;
  gguf_get_tensor_size(gguf: Pointer, index: number): number;
}

const GGUF: Record<keyof GgufFunctions, [string, string[]]> = {
  gguf_init_from_file: ["void*", ["const char*", GGUF_INIT_PARAMS]],
  gguf_free: ["void", ["void*"]],
  gguf_get_data_offset: ["size_t", ["void*"]],
  gguf_find_key: ["int64", ["void*", "const char*"]],
  gguf_get_kv_type: ["int", ["void*", "int64"]],
  gguf_get_arr_type: ["int", ["void*", "int64"]],
  gguf_get_arr_n: ["size_t", ["void*", "int64"]],
  gguf_get_arr_data: ["void*", ["void*", "int64"]],
  gguf_get_n_tensors: ["int64", ["void*"]],
  gguf_get_tensor_offset: ["size_t", ["void*", "int64"]],
  gguf_get_tensor_size: ["size_t", ["void*", "int64"]],
};

export type Ggml = Bound<GgmlFunctions>;
export type GgmlBase = Bound<GgmlBaseFunctions>;
export type Gguf = Bound<GgufFunctions>;

export const bindGgml = (library: LibraryHandle): Ggml => bind<GgmlFunctions>(library, GGML);
export const bindGgmlBase = (library: LibraryHandle): GgmlBase => bind<GgmlBaseFunctions>(library, GGML_BASE);
export const bindGguf = (library: LibraryHandle): Gguf => bind<GgufFunctions>(library, GGUF);
