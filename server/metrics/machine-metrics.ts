import { statfs } from "node:fs/promises";
import { Gauge, type Registry } from "prom-client";
import { BackgroundReading } from "./background-reading.ts";
import { readGpu } from "./nvidia-smi.ts";

/** Two scrapes of the slowest usual interval. */
const KEPT_MS = 120_000;
/** A machine without the tool has none at the next scrape either. */
const GPU_FAILURES = 3;

/**
 * The machine in the registry: the file system of the data directory, and the GPUs where the driver's tool tells. No
 * scrape waits for either: it has what was read for the one before.
 */
export function watchMachine(registry: Registry, { dataDir, now }: { dataDir: string; now: () => number }): void {
  const gpu = new BackgroundReading({ read: () => readGpu(), now, keptMs: KEPT_MS, failures: GPU_FAILURES });
  const disk = new BackgroundReading({ read: () => readDisk(dataDir), now, keptMs: KEPT_MS, failures: Infinity });
  for (const reading of [gpu, disk]) void reading.refresh();
  const gauge = (name: string, help: string, read: () => number | null | undefined) =>
    new Gauge({
      name: `nightshift_${name}`,
      help,
      registers: [registry],
      collect() {
        const value = read() ?? null;
        if (value === null) this.remove();
        else this.set(value);
      },
    });
  gauge("disk_free_bytes", "Free space for the data directory", () => disk.get()?.freeBytes);
  gauge("disk_size_bytes", "Size of the data directory's file system", () => disk.get()?.sizeBytes);
  gauge("gpu_utilization_ratio", "Mean utilization of the GPUs that nvidia-smi shows", () => gpu.get()?.utilization);
  gauge(
    "gpu_memory_used_bytes",
    "Memory in use on the GPUs that nvidia-smi shows, by whomever",
    () => gpu.get()?.usedBytes,
  );
  gauge("gpu_memory_size_bytes", "Memory of the GPUs that nvidia-smi shows", () => gpu.get()?.totalBytes);
}

async function readDisk(dataDir: string): Promise<{ freeBytes: number; sizeBytes: number }> {
  const { bavail, blocks, bsize } = await statfs(dataDir);
  return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
}
