import { flagName } from "./name.ts";
import { nearest } from "./nearest.ts";
import type { Options } from "./table.ts";

/** A sentence for each model in an option that is not served, so that its setting has no effect. */
export function unservedNames(options: Pick<Options, "prices" | "toolFormat">, served: readonly string[]): string[] {
  return (["prices", "toolFormat"] as const).flatMap((key) =>
    Object.keys(options[key])
      .filter((name) => !served.includes(name))
      .map((name) => {
        const near = nearest(name, served);
        return `${flagName(key)} names the model '${name}', which is not served.${near === null ? "" : ` Did you mean '${near}'?`}`;
      }),
  );
}
