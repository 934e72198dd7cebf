/** The parameters of `Prefer: respond-async` (RFC 7240, 4.1). */
export interface RespondAsync {
  /** Milliseconds of `wait` (4.3), for which the client accepts to wait; null where it names none. */
  waitMs: number | null;
}

const QUOTED = /"((?:[^"\\]|\\.)*)"/g;
const SECONDS = /^\d{1,9}$/;
/** Milliseconds: one day, which is longer than any client waits and fits into a timer. */
const MOST_WAIT_MS = 86_400_000;

/**
 * The preference of a job over a long wait; null where the header has none. Unknown preferences are ignored, and of several
 * with one name the first counts (RFC 7240, 2).
 */
export function respondAsync(header: string | string[] | undefined): RespondAsync | null {
  const preferences = new Map<string, string>();
  // A quoted value may contain commas and semicolons. None of the preferences read here does.
  const plain = [header ?? []]
    .flat()
    .join(",")
    .replace(QUOTED, (_, inner: string) => inner.replace(/[,;=]/g, "?"));
  for (const preference of plain.split(",")) {
    const [named = ""] = preference.split(";");
    const [name = "", value = ""] = named.split("=");
    const key = name.trim().toLowerCase();
    if (!preferences.has(key)) preferences.set(key, value.trim());
  }
  if (!preferences.has("respond-async")) return null;
  const wait = preferences.get("wait") ?? "";
  return { waitMs: SECONDS.test(wait) ? Math.min(Number(wait) * 1000, MOST_WAIT_MS) : null };
}
