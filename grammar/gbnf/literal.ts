import { escaped } from "./code-points.ts";

/** A text as a quoted literal of GBNF. */
export function literal(text: string): string {
  return `"${text.replace(/["\\\p{Cc}]/gu, (char) => escaped(char.codePointAt(0)!))}"`;
}

/** A choice of right-hand sides, as one that can be an item of a sequence. */
export function oneOf(alternatives: readonly string[]): string {
  const different = [...new Set(alternatives)];
  return different.length === 1 ? different[0]! : `(${different.join(" | ")})`;
}
