import type { LibraryHandle } from "koffi";
import { type Bound, bind } from "./bindings.ts";
import type { Pointer } from "./structs.ts";

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

export type Ggml = Bound<GgmlFunctions>;
export type GgmlBase = Bound<GgmlBaseFunctions>;

export const bindGgml = (library: LibraryHandle): Ggml => bind<GgmlFunctions>(library, GGML);
export const bindGgmlBase = (library: LibraryHandle): GgmlBase => bind<GgmlBaseFunctions>(library, GGML_BASE);
