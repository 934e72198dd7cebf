import { flagName } from "./name.ts";
import { nearest } from "./nearest.ts";
import type { OptionKey, Options } from "./table.ts";

/** A sentence for each model in an option that is not served, so that its setting has no effect. */
export function unservedNames(
  options: Pick<Options, "prices" | "toolFormat" | "chatTemplate">,
  served: readonly string[],
): string[] {
  const named: [OptionKey, string[]][] = [
    ["prices", Object.keys(options.prices)],
    ["toolFormat", Object.keys(options.toolFormat)],
    ["chatTemplate", options.chatTemplate.flatMap(({ model }) => model ?? [])],
  ];
  return named.flatMap(([key, names]) =>
    names
      .filter((name) => !served.includes(name))
      .map((name) => {
        const near = nearest(name, served);
        return `${flagName(key)} names the model '${name}', which is not served.${near === null ? "" : ` Did you mean '${near}'?`}`;
      }),
  );
}
