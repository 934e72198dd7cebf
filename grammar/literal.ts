/** A text as a quoted literal of GBNF. */
export function literal(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what has to be written as escapes
  const escaped = text.replace(/["\\\u0000-\u001f\u007f]/g, (char) => {
    if (char === '"' || char === "\\") return `\\${char}`;
    return `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`;
  });
  return `"${escaped}"`;
}

/** One of several right-hand sides, as one that can stand in a sequence. */
export function oneOf(alternatives: readonly string[]): string {
  const different = [...new Set(alternatives)];
  return different.length === 1 ? different[0]! : `(${different.join(" | ")})`;
}
