// llama.cpp's libraries for NVIDIA and Vulkan. npm would fetch 600 MB of them on every machine, so package.json's
// overrides keep them out of node_modules; they are installed into .engine/ on machines with a GPU.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const PACKAGES = {
  linux: { cuda: ["linux-x64-cuda", "linux-x64-cuda-ext"], vulkan: ["linux-x64-vulkan"] },
  win32: { cuda: ["win-x64-cuda", "win-x64-cuda-ext"], vulkan: ["win-x64-vulkan"] },
};

/** Files that show an installed driver. Checking them is cheap; nvidia-smi takes up to a second. */
const NVIDIA_DRIVER = {
  linux: ["/proc/driver/nvidia/version", "/dev/nvidiactl", "/usr/lib/wsl/lib/libcuda.so.1"],
  win32: ["C:\\Windows\\System32\\nvcuda.dll"],
};

/**
 * NIGHTSHIFT_ENGINE_BINARIES=cpu|cuda|vulkan decides; the default is CUDA where an NVIDIA driver is installed. On macOS
 * the ordinary package includes Metal. After a failed download the CPU libraries are used.
 */
export function setUpEngineBinaries({ root, npm, say }) {
  const requested = process.env.NIGHTSHIFT_ENGINE_BINARIES || undefined;
  if (requested !== undefined && !["cpu", "cuda", "vulkan"].includes(requested)) {
    say(`NIGHTSHIFT_ENGINE_BINARIES must be cpu, cuda or vulkan; it is "${requested}". It is ignored.`);
  }
  const packages = process.arch === "x64" ? PACKAGES[process.platform]?.[wanted(requested)] : undefined;
  if (packages === undefined) return;

  const version = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).dependencies["node-llama-cpp"];
  const folder = join(root, ".engine");
  const failure = join(folder, `failed-${packages[0]}-${version}`);
  if (packages.every((name) => installedVersion(folder, name) === version)) return;
  // Without this check every start on a machine without network would wait for npm's retries.
  if (existsSync(failure) && requested === undefined) return;

  say(`Fetching llama.cpp for the GPU (${packages.join(", ")}; some hundred MB, once) …`);
  mkdirSync(folder, { recursive: true });
  const names = packages.map((name) => `@node-llama-cpp/${name}@${version}`);
  if (npm(["install", "--prefix", folder, "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", ...names])) {
    rmSync(failure, { force: true });
    return;
  }
  writeFileSync(failure, "");
  say(`The download failed; the CPU is used. To retry: NIGHTSHIFT_ENGINE_BINARIES=${wanted(requested)} npm start`);
}

function wanted(requested) {
  if (requested === "cuda" || requested === "vulkan" || requested === "cpu") return requested;
  return NVIDIA_DRIVER[process.platform]?.some((path) => existsSync(path)) ? "cuda" : "cpu";
}

function installedVersion(folder, name) {
  const path = join(folder, "node_modules", "@node-llama-cpp", name, "package.json");
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")).version : null;
}
