/** What `Prefer: respond-async` (RFC 7240, 4.1) comes with. */
export interface RespondAsync {
  /** How long the client would wait for an answer, of `wait` (4.3); null when it does not say. */
  waitMs: number | null;
}

const QUOTED = /"((?:[^"\\]|\\.)*)"/g;
const SECONDS = /^\d{1,9}$/;
/** Longer than anybody waits, and what a timer can hold. */
const MOST_WAIT_MS = 86_400_000;

/**
 * Whether a client would rather have a job than wait. A preference that is not understood is not there, and of several
 * of one name the first counts (RFC 7240, 2).
 */
export function respondAsync(header: string | string[] | undefined): RespondAsync | null {
  const preferences = new Map<string, string>();
  // A quoted value may hold commas and semicolons; one that does is none of those that are looked for.
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
