import { flagName } from "./name.ts";
import { nearest } from "./nearest.ts";
import type { OptionKey, Options } from "./table.ts";

/** A sentence for each model in an option that is not served, so that its setting has no effect. */
export function unservedNames(
  options: Pick<Options, "prices" | "toolFormat" | "chatTemplate" | "routes">,
  served: readonly string[],
): string[] {
  const flags: [OptionKey, string[]][] = [
    ["prices", Object.keys(options.prices)],
    ["toolFormat", Object.keys(options.toolFormat)],
    ["chatTemplate", options.chatTemplate.flatMap(({ model }) => model ?? [])],
  ];
  const routes = Object.entries(options.routes).map(([route, { models }]) => [`The route '${route}'`, models] as const);
  const named = [...flags.map(([key, names]) => [flagName(key), names] as const), ...routes];
  return named.flatMap(([subject, names]) =>
    names
      .filter((name) => !served.includes(name))
      .map((name) => {
        const near = nearest(name, served);
        return `${subject} names the model '${name}', which is not served.${near === null ? "" : ` Did you mean '${near}'?`}`;
      }),
  );
}
