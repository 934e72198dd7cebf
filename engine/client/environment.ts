import { availableParallelism } from "node:os";
import { TOKENIZED_AT_ONCE } from "../protocol/config.ts";

/** What the loader, drivers, backends and Node itself look for. */
const NAMES = new Set(
  (
    "PATH HOME USER LOGNAME TMPDIR TMP TEMP LANG LANGUAGE TZ LD_LIBRARY_PATH LD_PRELOAD DYLD_LIBRARY_PATH " +
    "DYLD_FALLBACK_LIBRARY_PATH SYSTEMROOT WINDIR SYSTEMDRIVE COMSPEC PATHEXT PROGRAMDATA PROGRAMFILES APPDATA " +
    "LOCALAPPDATA USERPROFILE HOMEDRIVE HOMEPATH NUMBER_OF_PROCESSORS PROCESSOR_ARCHITECTURE DISPLAY " +
    "NIGHTSHIFT_FAILPOINTS"
  ).split(" "),
);
const BEGINNINGS =
  /^(LC_|XDG_|CUDA_|GGML_|LLAMA_|NVIDIA_|NCCL_|HIP_|HSA_|ROCR_|ROCM_|AMD_|GPU_|VK_|MESA_|RADV_|ONEAPI_|SYCL_|ZES?_|OMP_|GOMP_|KMP_|OPENBLAS_|BLIS_|MTL_|METAL_|ASAN_|UBSAN_|TSAN_)/;

/**
 * The environment of an engine process: native code that reads strangers' files gets what it needs to find libraries and
 * devices, and no key, token or address of anything else.
 */
export function engineEnvironment(all: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const passed = Object.entries(all).filter(([name]) => {
    const upper = name.toUpperCase();
    return NAMES.has(upper) || BEGINNINGS.test(upper);
  });
  // libuv's threads run the asynchronous FFI calls of the step, and the text work beside it has threads of its own.
  const threads = Math.max(4, availableParallelism()) + TOKENIZED_AT_ONCE;
  return { ...Object.fromEntries(passed), UV_THREADPOOL_SIZE: String(threads) };
}
