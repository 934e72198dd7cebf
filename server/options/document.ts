import { isLive } from "./live-options.ts";
import { flagName, variableName } from "./name.ts";
import type { Option } from "./option.ts";
import { fallbackText, OPTION_KEYS, OPTIONS } from "./table.ts";

const HEAD = `# Options

Each option can be set in three ways. The first one that is set wins:

1. a flag: \`nightshift serve --port 9000\` (from a checkout: \`npm start -- --port 9000\`),
2. an environment variable: \`NIGHTSHIFT_PORT=9000\`; values of a repeatable option are separated by commas,
3. the configuration file \`nightshift.yaml\` in the working directory, or the one that \`--config\` or
   \`NIGHTSHIFT_CONFIG\` names: \`port: 9000\`; values of a repeatable option are a list, models also a map of names:

   \`\`\`yaml
   port: 9000
   model:
     small: ./models/small.gguf
     large: hf:owner/repo:Q4_K_M
   \`\`\`

An unknown key in the file is an error. An unknown \`NIGHTSHIFT_\` variable is a warning in the log.

Options marked *live* are read again on SIGHUP (\`kill -HUP PID\`, \`systemctl reload\`). Other changed options are named in the
log and need a restart. An invalid file changes nothing. Flags and environment keep the values of the start.

Sizes are in bytes or have a unit: \`512MB\` is decimal, \`512MiB\` binary.

\`shift\` is a mode, or in the file a map. A flag or variable then sets only the mode:

\`\`\`yaml
shift:
  mode: night
  night: ["Mon-Fri 19:00-07:00", "Sat,Sun 00:00-24:00"] # the days on which a window begins, and local times
  timezone: Europe/Berlin # default: that of the machine
  trickle: 0.1 # share of the engine for batch work outside the windows, default 0
  idleBelow: 0.2 # for mode idle: batch work runs while online work uses less than this share of the time
\`\`\`

\`webhooks\` are set only in the file. A secret is \`whsec_\` followed by base64, or any other text. Without \`events\` an
endpoint gets all events:

\`\`\`yaml
webhooks:
  - url: https://hooks.example/nightshift
    secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
    events: [batch.completed, batch.failed, batch.expired, batch.cancelled]
\`\`\`
`;

/** The text of docs/options.md, made from the table. */
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
      isLive(key) ? `${option.help} *Live.*` : option.help,
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
