import { cpus, loadavg, release, totalmem, type } from "node:os";

/** Facts about the machine and the time of a measurement. */
export function machineFacts(args: string[]) {
  return {
    date: new Date().toISOString(),
    command: ["bench", ...args].join(" "),
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
    node: process.version,
    /** Load average of the minute before the run; far from 0 the machine was not idle. */
    load: loadavg()[0]!,
  };
}

export type MachineFacts = ReturnType<typeof machineFacts>;

/** One line for the end of a table with the origin of its figures. */
export function machineLine(facts: MachineFacts): string {
  const { cpu, cores, system, node, load } = facts;
  return `${cpu}, ${cores} cores, ${system}, Node ${node}; load before: ${load.toFixed(2)}`;
}
