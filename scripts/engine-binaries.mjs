// llama.cpp's libraries for NVIDIA and Vulkan. npm would fetch 600 MB of them on every machine, so package.json's
// overrides keep them out of node_modules, and they come into .engine/ where there is something to run them on.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const PACKAGES = {
  linux: { cuda: ["linux-x64-cuda", "linux-x64-cuda-ext"], vulkan: ["linux-x64-vulkan"] },
  win32: { cuda: ["win-x64-cuda", "win-x64-cuda-ext"], vulkan: ["win-x64-vulkan"] },
};

/** Any of these means that a driver is installed. A look at the file system is free; nvidia-smi takes up to a second. */
const NVIDIA_DRIVER = {
  linux: ["/proc/driver/nvidia/version", "/dev/nvidiactl", "/usr/lib/wsl/lib/libcuda.so.1"],
  win32: ["C:\\Windows\\System32\\nvcuda.dll"],
};

/**
 * NIGHTSHIFT_ENGINE_BINARIES=cpu|cuda|vulkan decides; without it CUDA where an NVIDIA driver is. On macOS the ordinary
 * package brings Metal. When the download fails the CPU libraries serve.
 */
export function setUpEngineBinaries({ root, npm, say }) {
  const asked = process.env.NIGHTSHIFT_ENGINE_BINARIES || undefined;
  if (asked !== undefined && !["cpu", "cuda", "vulkan"].includes(asked)) {
    say(`NIGHTSHIFT_ENGINE_BINARIES must be cpu, cuda or vulkan; it is "${asked}". Going on as if it were unset.`);
  }
  const packages = process.arch === "x64" ? PACKAGES[process.platform]?.[wanted(asked)] : undefined;
  if (packages === undefined) return;

  const version = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).dependencies["node-llama-cpp"];
  const folder = join(root, ".engine");
  const failure = join(folder, `failed-${packages[0]}-${version}`);
  if (packages.every((name) => installedVersion(folder, name) === version)) return;
  // Without this, every start on a machine without network would wait for npm's retries.
  if (existsSync(failure) && asked === undefined) return;

  say(`Fetching llama.cpp for the GPU (${packages.join(", ")}; some hundred MB, once) …`);
  mkdirSync(folder, { recursive: true });
  const names = packages.map((name) => `@node-llama-cpp/${name}@${version}`);
  if (npm(["install", "--prefix", folder, "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", ...names])) {
    rmSync(failure, { force: true });
    return;
  }
  writeFileSync(failure, "");
  say(`That failed; going on with the CPU. To try again: NIGHTSHIFT_ENGINE_BINARIES=${wanted(asked)} npm start`);
}

function wanted(asked) {
  if (asked === "cuda" || asked === "vulkan" || asked === "cpu") return asked;
  return NVIDIA_DRIVER[process.platform]?.some((path) => existsSync(path)) ? "cuda" : "cpu";
}

function installedVersion(folder, name) {
  const path = join(folder, "node_modules", "@node-llama-cpp", name, "package.json");
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")).version : null;
}
