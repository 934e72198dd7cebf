import { cpus, loadavg, release, totalmem, type } from "node:os";

/** Where and when a measurement was made. */
export function machineFacts(args: string[]) {
  return {
    date: new Date().toISOString(),
    command: ["bench", ...args].join(" "),
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
    node: process.version,
    /** Of the last minute, before anything ran: far from 0, the machine was not free. */
    load: loadavg()[0]!,
  };
}

export type MachineFacts = ReturnType<typeof machineFacts>;

/** One line under a table, so that a pasted table says where it comes from. */
export function machineLine(facts: MachineFacts): string {
  const { cpu, cores, system, node, load } = facts;
  return `${cpu}, ${cores} cores, ${system}, Node ${node}; load before: ${load.toFixed(2)}`;
}
