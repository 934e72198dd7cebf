import type { IncomingMessage } from "node:http";
import { readQuery } from "../../http/query.ts";

const PAIR = /^metadata\[(.*)\]$/s;

/** The query of a request, with the values of `metadata[key]=value` as one map. */
export function readMetadataQuery(req: IncomingMessage): Record<string, unknown> {
  const query: Record<string, unknown> = {};
  const metadata: Record<string, unknown> = Object.create(null);
  for (const [name, value] of Object.entries(readQuery(req))) {
    const key = PAIR.exec(name)?.[1];
    if (key === undefined) query[name] = value;
    else metadata[key] = value;
  }
  return Object.keys(metadata).length === 0 ? query : { ...query, metadata };
}
