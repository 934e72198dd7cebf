const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text of a token. Bytes that are not whole characters are written as \\xNN, so that the texts of tokens differ. */
export function tokenName(bytes: Uint8Array, mark = ""): string {
  try {
    return utf8.decode(bytes);
  } catch {
    return mark + Array.from(bytes, (byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("");
  }
}
