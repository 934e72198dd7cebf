import { flagName, variableName } from "./name.ts";
import type { Option } from "./option.ts";
import { fallbackText, OPTION_KEYS, OPTIONS } from "./table.ts";

const HEAD = `# Options

Every option can be set in three ways, the first one found wins:

1. a flag: \`nightshift serve --port 9000\` (from a checkout: \`npm start -- --port 9000\`),
2. an environment variable: \`NIGHTSHIFT_PORT=9000\`; what may be repeated is separated by commas,
3. the configuration file \`nightshift.yaml\` in the working directory, or the one that \`--config\` or
   \`NIGHTSHIFT_CONFIG\` names: \`port: 9000\`; what may be repeated is a list, models also a map of names:

   \`\`\`yaml
   port: 9000
   model:
     small: ./models/small.gguf
     large: hf:owner/repo:Q4_K_M
   \`\`\`

A key of the file that no option has ends the start; a \`NIGHTSHIFT_\` variable that nothing reads is a warning in the log.

Sizes are bytes or carry a unit: \`512MB\` is decimal, \`512MiB\` binary.

\`shift\` is a mode, or in the file a map. A flag or variable then still sets the mode, and leaves the rest as it is:

\`\`\`yaml
shift:
  mode: night
  night: ["Mon-Fri 19:00-07:00", "Sat,Sun 00:00-24:00"] # days on which a window begins, and local hours
  timezone: Europe/Berlin # default: the machine's
  trickle: 0.1 # share of the engine that batch work has outside the windows, default 0
  idleBelow: 0.2 # for mode idle: batch work runs while online work takes less of the time than this
\`\`\`

\`webhooks\` are set in the file alone. A secret is \`whsec_\` with base64 behind it, or any other text; without
\`events\` an endpoint gets all of them:

\`\`\`yaml
webhooks:
  - url: https://hooks.example/nightshift
    secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
    events: [batch.completed, batch.failed, batch.expired, batch.cancelled]
\`\`\`
`;

/** docs/options.md, made from the table. */
export function optionsDocument(): string {
  const groups = new Map<string, string[]>();
  for (const key of OPTION_KEYS) {
    const option: Option<unknown> = OPTIONS[key];
    const cells = [
      option.kind.fileOnly || option.kind.environmentOnly ? "" : `\`${flagName(key)}\``,
      option.kind.fileOnly ? "" : `\`${variableName(key)}\``,
      option.kind.environmentOnly ? "" : `\`${key}\``,
      option.kind.allowed,
      fallbackText(key),
      option.help,
    ];
    const rows = groups.get(option.group) ?? [];
    rows.push(`| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`);
    groups.set(option.group, rows);
  }
  const sections = [...groups].map(
    ([group, rows]) =>
      `## ${group}\n\n| flag | environment | file | value | default | |\n|---|---|---|---|---|---|\n${rows.join("\n")}\n`,
  );
  return [HEAD, ...sections].join("\n");
}
