import { availableParallelism } from "node:os";
import { TOKENIZED_AT_ONCE } from "../protocol/config.ts";

/** Variables of the loader, the C library, drivers and failpoints. */
const NAMES = new Set(
  (
    "PATH HOME USER LOGNAME TMPDIR TMP TEMP LANG LANGUAGE TZ LD_LIBRARY_PATH LD_PRELOAD NIX_LD NIX_LD_LIBRARY_PATH DYLD_LIBRARY_PATH " +
    "DYLD_FALLBACK_LIBRARY_PATH GLIBC_TUNABLES ONEAPI_DEVICE_SELECTOR DRI_PRIME DISPLAY WAYLAND_DISPLAY " +
    "SYSTEMROOT WINDIR SYSTEMDRIVE COMSPEC PATHEXT PROGRAMDATA PROGRAMFILES APPDATA LOCALAPPDATA USERPROFILE " +
    "HOMEDRIVE HOMEPATH NUMBER_OF_PROCESSORS PROCESSOR_ARCHITECTURE NIGHTSHIFT_FAILPOINTS"
  ).split(" "),
);
/** Families of variables of llama.cpp, its backends, their drivers, and of libraries for threads and memory. */
const FAMILIES =
  /^(LC|XDG|CUDA|GGML|LLAMA|NVIDIA|NCCL|HIP|HSA|ROC|ROCR|ROCM|ROCBLAS|HIPBLASLT|TENSILE|AMD|GPU|MUSA|ASCEND|VK|MESA|RADV|ONEAPI|SYCL|UR|ZES?|OCL|OPENCL|OMP|GOMP|KMP|OPENBLAS|BLIS|MKL|MTL|METAL|MALLOC|ASAN|UBSAN|TSAN)_/;
/** LLAMA_API_KEY, NVIDIA_API_KEY, LLAMA_ARG_SSL_KEY_FILE and their like belong to programs around the libraries. */
const SECRET = /^LLAMA_ARG_|(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(_|$)/;

/**
 * The environment of an engine process: native code there reads model files from anywhere, so it gets the variables that find
 * libraries and devices, and no key, token or address. NODE_OPTIONS is not among them: its settings of the server's Node
 * (a debugger's port, a heap limit, modules to preload) are not meant for a second process.
 */
export function engineEnvironment(all: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const passed = Object.entries(all).filter(([name]) => isPassed(name.toUpperCase()));
  // libuv's threads run the asynchronous FFI calls of the step; tokenizing beside it needs threads of its own.
  const threads = Math.max(4, availableParallelism()) + TOKENIZED_AT_ONCE;
  return { ...Object.fromEntries(passed), UV_THREADPOOL_SIZE: String(threads) };
}

function isPassed(name: string): boolean {
  return NAMES.has(name) || (FAMILIES.test(name) && !SECRET.test(name));
}
