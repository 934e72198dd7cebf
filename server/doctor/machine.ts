import os from "node:os";

/** The machine as the operating system tells it; sizes in bytes. */
export interface Machine {
  platform: string;
  node: string;
  cpu: string;
  cores: number;
  memory: number;
  /** What can be used now without swapping, within the limit of a container. */
  freeMemory: number;
}

export function readMachine(): Machine {
  const limit = process.constrainedMemory();
  const memory = os.totalmem();
  // Without a limit it is 0, or in some kernels a number larger than the machine.
  const bounded = limit > 0 && limit < memory;
  return {
    platform: `${os.platform()} ${os.arch()} ${os.release()}`,
    node: process.version,
    cpu: os.cpus()[0]?.model.trim() ?? "unknown",
    cores: os.availableParallelism(),
    memory: bounded ? limit : memory,
    freeMemory: Math.min(
      os.freemem(),
      bounded ? Math.max(0, limit - process.memoryUsage().rss) : Number.POSITIVE_INFINITY,
    ),
  };
}
