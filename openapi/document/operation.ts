import type { z } from "zod";
import type { Scope } from "../resources/keys.ts";

/** Who may call: anyone, who has the metrics' own token, who has any API key, or one with this scope. */
export type Access = "open" | "token" | "key" | Scope;

/** One method of one path, as the document tells it and the router enforces it; a test holds this list against what the router serves. */
export interface Operation {
  method: "get" | "post" | "patch" | "delete";
  /** With parameters as the router writes them, `:model`. */
  path: string;
  id: string;
  summary: string;
  access: Access;
  /** Name of the request body's schema. */
  request?: string;
  /** Name of the schema of a request body that is a multipart form. */
  form?: string;
  /** Schema of the query. */
  query?: z.ZodObject;
  /** Name of the schema of a 200, or `text`, or `bytes`, or `object` for any. */
  response: string;
  /** Name of the schema of a 200 that answers a request with `dry_run`. */
  dryRun?: string;
  /** Name of the schema of a 202. */
  accepted?: string;
  /** Name of the schema of each `data:` of a stream. */
  stream?: string;
  /** Statuses beside 200, with an Error body. */
  failures: Record<string, string>;
  /** Name of a 503's schema where it is not an Error. */
  unready?: string;
}
