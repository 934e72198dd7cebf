import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** Values over all GPUs of the driver; null for a value that no GPU reports. */
export interface GpuReading {
  /** Share of the sample period in which a kernel ran, 0 to 1; the mean of the GPUs. */
  utilization: number | null;
  usedBytes: number | null;
  totalBytes: number | null;
}

const QUERY = ["--query-gpu=utilization.gpu,memory.used,memory.total", "--format=csv,noheader,nounits"];
/** Milliseconds until nvidia-smi is killed: a hung driver blocks it without end. */
const TIMEOUT_MS = 5000;
const MIB = 1024 * 1024;

/** Runs nvidia-smi. Rejects without it, without a GPU, and on timeout. */
export async function readGpu(command = "nvidia-smi", timeoutMs = TIMEOUT_MS): Promise<GpuReading> {
  const run = promisify(execFile);
  const { stdout } = await run(command, QUERY, { timeout: timeoutMs, killSignal: "SIGKILL", maxBuffer: 64 * 1024 });
  return parseGpu(stdout);
}

/** One line per GPU: percent, MiB, MiB; a value that a GPU does not report is "[N/A]". */
export function parseGpu(text: string): GpuReading {
  const rows = text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => line.split(",").map(numberOf));
  if (rows.length === 0) throw new Error("no GPU");
  const column = (index: number) => rows.map((row) => row[index] ?? null).filter((value) => value !== null);
  const sum = (values: number[]) => (values.length === 0 ? null : values.reduce((total, value) => total + value));
  const [percent, used, total] = [column(0), sum(column(1)), sum(column(2))];
  const busy = sum(percent);
  return {
    utilization: busy === null ? null : busy / percent.length / 100,
    usedBytes: used === null ? null : used * MIB,
    totalBytes: total === null ? null : total * MIB,
  };
}

function numberOf(field: string): number | null {
  return /^\s*\d+(\.\d+)?\s*$/.test(field) ? Number(field) : null;
}
