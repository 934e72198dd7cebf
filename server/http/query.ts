import type { IncomingMessage } from "node:http";

/** The query of a request. `a=1&a=2` and `a[]=1` are lists for the names in `lists`; for other names the last value counts. */
export function readQuery(req: IncomingMessage, lists: readonly string[] = []): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = Object.create(null);
  for (const [key, value] of new URL(req.url ?? "/", "http://localhost").searchParams) {
    const name = key.endsWith("[]") ? key.slice(0, -2) : key;
    if (!lists.includes(name)) query[name] = value;
    else query[name] = [...(query[name] ?? []), value];
  }
  return query;
}
