import { statfs } from "node:fs/promises";
import { Gauge, type Registry } from "prom-client";
import { BackgroundReading } from "./background-reading.ts";
import { readGpu } from "./nvidia-smi.ts";

/** Milliseconds that a reading is shown: two scrapes at the longest usual interval. */
const KEPT_MS = 120_000;
/** Failed readings of nvidia-smi after which it is taken to be missing. */
const GPU_FAILURES = 3;

/**
 * Adds gauges of the data directory's file system and, where nvidia-smi is installed, of the GPUs. A scrape does not wait
 * for either: it shows the reading that the previous scrape began.
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
  gauge("disk_free_bytes", "Free space on the data directory's file system", () => disk.get()?.freeBytes);
  gauge("disk_size_bytes", "Size of the data directory's file system", () => disk.get()?.sizeBytes);
  gauge("gpu_utilization_ratio", "Mean GPU utilization, from nvidia-smi", () => gpu.get()?.utilization);
  gauge("gpu_memory_used_bytes", "GPU memory in use by all processes, from nvidia-smi", () => gpu.get()?.usedBytes);
  gauge("gpu_memory_size_bytes", "Total GPU memory, from nvidia-smi", () => gpu.get()?.totalBytes);
}

async function readDisk(dataDir: string): Promise<{ freeBytes: number; sizeBytes: number }> {
  const { bavail, blocks, bsize } = await statfs(dataDir);
  return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
}
