import { type Command, Option } from "commander";
import type { Kind } from "./kinds/kind.ts";
import { flagName } from "./name.ts";
import { fallbackText, OPTION_KEYS, OPTIONS } from "./table.ts";

/** Gives a command one flag for every option, as text: reading and checking is resolveOptions's part. */
export function addFlags(command: Command): Command {
  command.addOption(
    new Option("--config <file>", "The configuration file (default: nightshift.yaml here, if there is one)").helpGroup(
      "Server:",
    ),
  );
  for (const key of OPTION_KEYS) {
    const { group, help, kind }: { group: string; help: string; kind: Kind<unknown> } = OPTIONS[key];
    if (kind.fileOnly || kind.environmentOnly) continue;
    const option = new Option(`${flagName(key)} <${kind.metavar}>`, `${help} (default: ${fallbackText(key)})`);
    if (kind.list) option.argParser((value: string, earlier: string[] | undefined) => [...(earlier ?? []), value]);
    command.addOption(option.helpGroup(`${group}:`));
  }
  return command;
}
