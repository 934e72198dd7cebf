import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { arch, platform } from "node:process";
import { fileURLToPath } from "node:url";

const PLATFORMS: Partial<Record<string, string>> = { linux: "linux", darwin: "mac", win32: "win" };
const ARCHITECTURES: Partial<Record<string, string>> = { x64: "x64", arm64: "arm64", arm: "armv7l" };

/**
 * The directory with llama.cpp's libraries for this machine, from node-llama-cpp's platform packages, best first. The GPU
 * packages (hundreds of megabytes) are installed only where set-up found a GPU.
 *
 * @throws Error that names the missing packages
 */
export function bundledBinaries(gpu: boolean): string {
  const machine = `${PLATFORMS[platform] ?? platform}-${ARCHITECTURES[arch] ?? arch}`;
  const plain = machine === "mac-arm64" ? "mac-arm64-metal" : machine;
  const names = gpu ? [`${machine}-cuda`, `${machine}-vulkan`, plain] : [plain];
  for (const name of names) {
    const binaries = packageBinaries(name);
    if (binaries !== null) return join(binaries, name);
  }
  throw new Error(
    `No llama.cpp binaries for ${machine} are installed. Install again without --omit=optional, ` +
      "or build llama.cpp yourself and name its directory with --llama-dir.",
  );
}

/**
 * The CUDA package is built for recent cards; its companion holds the kernels of the older ones.
 *
 * @returns the companion's backend library, or null
 */
export function cudaFallback(): string | null {
  const binaries = packageBinaries("linux-x64-cuda-ext") ?? packageBinaries("win-x64-cuda-ext");
  if (binaries === null) return null;
  const file = platform === "win32" ? "win-x64-cuda/fallback/ggml-cuda.dll" : "linux-x64-cuda/fallback/libggml-cuda.so";
  return existsSync(join(binaries, file)) ? join(binaries, file) : null;
}

function packageBinaries(name: string): string | null {
  for (const require of requires()) {
    try {
      const binaries = join(dirname(require.resolve(`@node-llama-cpp/${name}`)), "..", "bins");
      if (existsSync(binaries)) return binaries;
    } catch {
      // Not installed there.
    }
  }
  return null;
}

/** The possible locations of the packages: .engine/ of a checkout, beside this package, below node-llama-cpp. */
function requires(): NodeJS.Require[] {
  const own = createRequire(import.meta.url);
  const places = [own];
  const root = checkoutRoot();
  if (root !== null) places.unshift(createRequire(join(root, ".engine", "package.json")));
  try {
    places.push(createRequire(own.resolve("node-llama-cpp")));
  } catch {
    // The umbrella package is not needed for its parts to be found.
  }
  return places;
}

function checkoutRoot(): string | null {
  let directory = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(directory, "package.json"))) {
    const parent = dirname(directory);
    if (parent === directory) return null;
    directory = parent;
  }
  return directory;
}
