const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A token's text; where its bytes are no whole characters, each as \\xNN, so that different tokens have different names. */
export function tokenName(bytes: Uint8Array, mark = ""): string {
  try {
    return utf8.decode(bytes);
  } catch {
    return mark + Array.from(bytes, (byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("");
  }
}
