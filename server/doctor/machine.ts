import os from "node:os";

/** Facts of the machine from the operating system; sizes in bytes. */
export interface Machine {
  platform: string;
  node: string;
  cpu: string;
  cores: number;
  memory: number;
  /** Memory that is available without swapping, within the limit of a container. */
  freeMemory: number;
}

export function readMachine(): Machine {
  const limit = process.constrainedMemory();
  const memory = os.totalmem();
  // Without a limit the value is 0, or on some kernels larger than the memory of the machine.
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
