import { type Command, Option } from "commander";
import type { Kind } from "./kinds/kind.ts";
import { flagName } from "./name.ts";
import { fallbackText, OPTION_KEYS, OPTIONS, type OptionKey } from "./table.ts";

/** Adds one flag for each option, or for some of them, to a command. Values are text; resolveOptions parses them. */
export function addFlags(command: Command, keys: readonly OptionKey[] = OPTION_KEYS): Command {
  command.addOption(
    new Option(
      "--config <file>",
      "Configuration file (default: nightshift.yaml in the working directory, if it exists)",
    ).helpGroup("Server:"),
  );
  for (const key of keys) {
    const { group, help, kind }: { group: string; help: string; kind: Kind<unknown> } = OPTIONS[key];
    if (kind.fileOnly || kind.environmentOnly) continue;
    const option = new Option(`${flagName(key)} <${kind.metavar}>`, `${help} (default: ${fallbackText(key)})`);
    if (kind.list) option.argParser((value: string, earlier: string[] | undefined) => [...(earlier ?? []), value]);
    command.addOption(option.helpGroup(`${group}:`));
  }
  return command;
}
