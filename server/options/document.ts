import { flagName, variableName } from "./name.ts";
import type { Option } from "./table.ts";
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

Sizes are bytes or carry a unit: \`512MB\` is decimal, \`512MiB\` binary.
`;

/** docs/options.md, made from the table. */
export function optionsDocument(): string {
  const groups = new Map<string, string[]>();
  for (const key of OPTION_KEYS) {
    const option: Option<unknown> = OPTIONS[key];
    const cells = [
      `\`${flagName(key)}\``,
      `\`${variableName(key)}\``,
      `\`${key}\``,
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
