import { reportedNames } from "../../openapi/ignored-fields.ts";

/**
 * `nightshift` in the answer of every line: the tier that it ran at, and the fields of its body that were not used, which
 * have a header in a response of HTTP.
 */
export function lineMark(ignored: readonly string[]): { tier: "batch"; ignored?: string[] } {
  return { tier: "batch", ...(ignored.length > 0 && { ignored: reportedNames(ignored) }) };
}
