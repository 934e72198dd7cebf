import { variableName } from "./name.ts";
import { nearest } from "./nearest.ts";
import { OPTION_KEYS, OPTIONS } from "./table.ts";

/** Variables that are no options of the server: of set-up, of the other commands, and of tests. */
const OTHERS = ["CONFIG", "URL", "API_KEY", "ENGINE_BINARIES", "FAILPOINTS"].map((name) => `NIGHTSHIFT_${name}`);

/**
 * A sentence for each variable of ours that nothing reads. Not an error, as a key of the file is: what stands in the
 * environment need not be meant for this server (a service named nightshift brings NIGHTSHIFT_SERVICE_HOST in Kubernetes).
 */
export function unreadVariables(env: Readonly<Record<string, string | undefined>>): string[] {
  const options = OPTION_KEYS.filter((key) => !OPTIONS[key].kind.fileOnly).map(variableName);
  const known = new Set([...options, ...OTHERS]);
  return Object.keys(env)
    .filter((name) => name.startsWith("NIGHTSHIFT_") && !known.has(name))
    .map((name) => {
      // What all names begin with would make any two of them alike.
      const near = nearest(withoutPrefix(name), options.map(withoutPrefix));
      return `No option reads ${name}.${near === null ? "" : ` Did you mean NIGHTSHIFT_${near}?`}`;
    });
}

function withoutPrefix(name: string): string {
  return name.replace("NIGHTSHIFT_", "");
}
