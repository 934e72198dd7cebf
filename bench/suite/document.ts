import { table } from "../base/table.ts";
import { type MachineFacts, machineLine } from "../target/machine.ts";
import type { Preset } from "./preset.ts";
import type { Goal, Section } from "./scenario.ts";

export interface SuiteReport {
  machine: MachineFacts;
  preset: Preset;
  repeats: number;
  seed: number;
  minutes: number;
  /** Command of every server, this one first; the URL of a server that was already running. */
  servers: { label: string; command: string }[];
  /** Description of the model. */
  model: string;
  sections: { name: string; title: string; section: Section }[];
}

/** The report as Markdown, with links to its figures' files by `figureFile`. */
export function document(report: SuiteReport, figureFile: (name: string) => string): string {
  const { machine, preset, repeats, seed, minutes, servers, model, sections } = report;
  const goals = sections.flatMap(({ title, section }) => section.goals.map((goal) => ({ title, goal })));
  const parts = [
    `# Benchmark suite, preset ${preset.name}`,
    `\`npm run ${machine.command.replace("bench", "bench --")}\` on ${machine.date.slice(0, 10)}, ` +
      `${minutes.toFixed(0)} minutes, seed ${seed}. ${machineLine(machine)}, ${machine.memoryGiB} GiB.`,
    `Model: ${model}`,
    `${sentence(repeats)} Servers alternate, the order reversed each time. One client process drives all of them, on the same ` +
      "machine. Definitions: bench/README.md.",
    `\`\`\`\n${servers.map(({ label, command }) => `${label}: ${command}`).join("\n")}\n\`\`\``,
  ];
  if (goals.length > 0) parts.push("## Goals", goalTable(goals));
  for (const { title, section } of sections) {
    parts.push(`## ${title}`, section.about);
    for (const { name, alt } of section.figures) parts.push(`![${alt}](${figureFile(name)})`);
    parts.push(table(section.head, section.rows));
    if (section.warnings.length > 0) parts.push(section.warnings.map((warning) => `- ! ${warning}`).join("\n"));
  }
  return `${parts.join("\n\n")}\n`;
}

function sentence(repeats: number): string {
  return repeats === 1
    ? "Measured once."
    : `Every figure is the median of ${repeats} repeats, with the least and the most.`;
}

function goalTable(goals: { title: string; goal: Goal }[]): string {
  const rows = goals.map(({ title, goal }) => [title, goal.what, goal.wanted, goal.measured, goal.met ? "yes" : "no"]);
  return table(["scenario", "what", "wanted", "measured", "met"], rows);
}
