import type { ServedMetric } from "./served.ts";

const UNITS: readonly (readonly [ending: RegExp, unit: string])[] = [
  [/_usd_per_hour$/, "USD per hour"],
  [/_usd(_total)?$/, "USD"],
  [/_seconds(_total)?$/, "seconds"],
  [/_bytes$/, "bytes"],
  [/_ratio$|_share$/, "share"],
  [/_tokens(_total)?$/, "tokens"],
  [/_lines(_total)?$|_lines_in_engine$|_lines_dropped_total$/, "lines"],
  [/_state$|_writable$/, "0 or 1"],
];

/** docs/metrics.md: every metric of a server. */
export function metricsPage(metrics: Iterable<ServedMetric>): string {
  const all = [...metrics].sort((a, b) => (a.name < b.name ? -1 : 1));
  const ofProcess = (metric: ServedMetric) => /^nightshift_(process|nodejs)_/.test(metric.name);
  return `# Metrics

The metrics of \`GET /metrics\`, in the text format of Prometheus. This page is made of a real server's answer:
\`npx vitest run test/deploy -u\` after a build. Alerts, and the actions after them, are in
[observability.md](observability.md).

Labels are \`model\`, \`endpoint\`, \`tier\`, \`status\`, \`upstream\`, \`route\` and \`reason\`, with values from configuration, names of
model files and fixed lists alone, so nothing that a client sends adds a series. A histogram named \`x\` is served as
\`x_bucket\`, \`x_sum\` and \`x_count\`. A gauge without a value (an ETA without a batch, a GPU without \`nvidia-smi\`, the memory
of an engine that has ended, a price that is not set, the load of an upstream that does not tell it) is absent.

${table(all.filter((metric) => !ofProcess(metric)))}

## Of the server process

These are prom-client's own, but for the active resources.

${table(all.filter(ofProcess))}
`;
}

function table(metrics: readonly ServedMetric[]): string {
  const rows = metrics.map(({ name, type, help, labels }) => {
    const list = [...labels].sort().map((label) => `\`${label}\``);
    return `| \`${name}\` | ${type} | ${unitOf(name)} | ${list.join(", ")} | ${help.replaceAll("|", "\\|")} |`;
  });
  return ["| name | type | unit | labels | meaning |", "|---|---|---|---|---|", ...rows].join("\n");
}

function unitOf(name: string): string {
  return UNITS.find(([ending]) => ending.test(name))?.[1] ?? "count";
}
