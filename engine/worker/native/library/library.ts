import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import koffi from "koffi";
import { bundledBinaries, cudaFallback } from "./binaries.ts";
import { bindLlama, checkAbi, type Llama } from "./bindings.ts";
import { bindGgml, bindGgmlBase, bindGguf, type Ggml, type GgmlBase, type Gguf } from "./ggml-bindings.ts";
import { LOG_CALLBACK, type Pointer } from "./structs.ts";

export interface Device {
  pointer: Pointer;
  name: string;
  description: string;
  kind: "cpu" | "gpu" | "other";
  /** Bytes. */
  free: number;
  total: number;
}

/** The loaded libllama with its backends. One per process: llama.cpp's registries are global. */
export interface Library {
  llama: Llama;
  gguf: Gguf;
  directory: string;
  build: string;
  devices: Device[];
  /** Reason that an installed GPU backend has no device; null when it has one, or when none is installed or allowed. */
  idleGpu: string | null;
  /** The last warnings and errors of llama.cpp, newest last; empty after quiet(). */
  complaints(): string[];
  /** Stops collecting complaints: from then on llama.cpp writes to stderr, which needs no call into JavaScript. */
  quiet(): void;
}

const STACK_BYTES = 16 * 1024 * 1024;
const LOG_LEVEL_WARN = 3;
const MOST_COMPLAINTS = 50;

/**
 * @param llamaDir a directory with an own build of llama.cpp, or null for the bundled binaries
 * @param gpu whether a GPU build of the bundled binaries may be used
 * @throws Error that names the directory without a library, or the other release
 */
export function loadLibrary(llamaDir: string | null, gpu: boolean): Library {
  // koffi runs native code on stacks of its own: 128 KiB for asynchronous calls is too little for tokenizers that recurse.
  koffi.config({ sync_stack_size: STACK_BYTES, async_stack_size: STACK_BYTES, max_async_calls: 1024 });
  const directory = llamaDir ?? bundledBinaries(gpu);
  const base = koffi.load(find(directory, /^(lib)?ggml-base\./));
  const ggmlFile = koffi.load(find(directory, /^(lib)?ggml\./));
  const llamaFile = koffi.load(find(directory, /^(lib)?llama\./));
  const llama = bindLlama(llamaFile);
  const ggml = bindGgml(ggmlFile);

  let complaints: string[] = [];
  const log = koffi.register((level: number, text: string) => {
    if (level < LOG_LEVEL_WARN || text.trim() === "") return;
    complaints = [...complaints, text.trim()].slice(-MOST_COMPLAINTS);
  }, koffi.pointer(LOG_CALLBACK));
  llama.llama_log_set(log, null);

  ggml.ggml_backend_load_all_from_path(directory);
  let devices = listDevices(ggml, bindGgmlBase(base));
  const fallback = gpu && llamaDir === null ? cudaFallback() : null;
  if (fallback !== null && !devices.some((device) => device.kind === "gpu")) {
    ggml.ggml_backend_load(fallback);
    devices = listDevices(ggml, bindGgmlBase(base));
  }
  llama.llama_backend_init();
  checkAbi(llama, directory);
  return {
    llama,
    gguf: bindGguf(base),
    directory,
    build: `llama.cpp ${llama.llama_version()}`,
    devices,
    idleGpu: gpu && !devices.some((device) => device.kind === "gpu") ? idleGpu(directory) : null,
    complaints: () => complaints,
    quiet: () => {
      llama.llama_log_set(null, null);
      complaints = [];
    },
  };
}

function find(directory: string, name: RegExp): string {
  const files = existsSync(directory) ? readdirSync(directory).sort() : [];
  const file = files.find((file) => name.test(file) && /\.(so|dylib|dll)(\.|$)/.test(file));
  if (file !== undefined) return join(directory, file);
  throw new Error(`No file ${name.source} in ${directory}: it must hold libllama, libggml and libggml-base.`);
}

/**
 * llama.cpp skips a backend that can't be loaded silently, and computes on the CPU. Loading it once more by itself gives the
 * reason: a missing CUDA runtime as a rule, which is no part of the driver.
 */
function idleGpu(directory: string): string | null {
  const file = readdirSync(directory).find((name) => /^(lib)?ggml-(cuda|vulkan)\.(so|dll)/.test(name));
  if (file === undefined) return null;
  try {
    koffi.load(join(directory, file));
    return `${file} finds no device.`;
  } catch (error) {
    return `${file} can't be loaded: ${error instanceof Error ? error.message : error}.`;
  }
}

function listDevices(ggml: Ggml, base: GgmlBase): Device[] {
  return Array.from({ length: ggml.ggml_backend_dev_count() }, (_, index) => {
    const pointer = ggml.ggml_backend_dev_get(index);
    const free = new BigUint64Array(1);
    const total = new BigUint64Array(1);
    base.ggml_backend_dev_memory(pointer, free, total);
    // enum ggml_backend_dev_type: CPU 0, GPU 1, integrated GPU 2, accelerators above
    const type = base.ggml_backend_dev_type(pointer);
    return {
      pointer,
      name: base.ggml_backend_dev_name(pointer),
      description: base.ggml_backend_dev_description(pointer),
      kind: type === 0 ? "cpu" : type <= 2 ? "gpu" : "other",
      free: Number(free[0]),
      total: Number(total[0]),
    };
  });
}
