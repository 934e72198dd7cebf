import { variableName } from "./name.ts";
import { nearest } from "./nearest.ts";
import { OPTION_KEYS, OPTIONS } from "./table.ts";

/** Variables that are not options of the server: of set-up, other commands and tests. */
const OTHERS = ["CONFIG", "URL", "API_KEY", "ENGINE_BINARIES", "FAILPOINTS"].map((name) => `NIGHTSHIFT_${name}`);

/**
 * A sentence for each variable with our prefix that nothing reads. Other than an unknown key of the file this is no error: the
 * variable may have another purpose (a Kubernetes service named nightshift sets NIGHTSHIFT_SERVICE_HOST).
 */
export function unreadVariables(env: Readonly<Record<string, string | undefined>>): string[] {
  const options = OPTION_KEYS.filter((key) => !OPTIONS[key].kind.fileOnly).map(variableName);
  const known = new Set([...options, ...OTHERS]);
  return Object.keys(env)
    .filter((name) => name.startsWith("NIGHTSHIFT_") && !known.has(name))
    .map((name) => {
      // The common prefix would make any two names similar.
      const near = nearest(withoutPrefix(name), options.map(withoutPrefix));
      return `No option reads ${name}.${near === null ? "" : ` Did you mean NIGHTSHIFT_${near}?`}`;
    });
}

function withoutPrefix(name: string): string {
  return name.replace("NIGHTSHIFT_", "");
}
