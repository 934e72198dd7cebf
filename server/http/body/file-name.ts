import { invalidRequest } from "../../../openapi/api-error.ts";

/** A file name as a client sent it, without the folders before it. Throws a 400 for control characters. */
export function fileName(given: string, param: string): string {
  if (/\p{Cc}/u.test(given)) {
    throw invalidRequest("invalid_value", param, `The name of '${param}' must have no control characters.`);
  }
  return given.slice(Math.max(given.lastIndexOf("/"), given.lastIndexOf("\\")) + 1) || "unnamed";
}
