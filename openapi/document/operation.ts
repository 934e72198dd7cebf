import type { z } from "zod";
import type { Scope } from "../resources/keys.ts";

/** Callers that are allowed: all, those with the metrics token, those with any API key, or with a key of this scope. */
export type Access = "open" | "token" | "key" | Scope;

/** One method of one path. The document describes it, the router enforces it, and a test compares the two. */
export interface Operation {
  method: "get" | "post" | "patch" | "delete";
  /** With parameters in the notation of the router, `:model`. */
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
  /** Name of the schema of a 200, or `text`, or `bytes`, or `object` for any JSON object. */
  response: string;
  /** The status of `response`, where it is not 200. */
  status?: 202;
  /** Name of the schema of a 200 that answers a request with `dry_run`. */
  dryRun?: string;
  /** Name of the schema of a 202. */
  accepted?: string;
  /** Name of the schema of each `data:` of a stream, or of each line of `application/x-ndjson`. */
  stream?: string;
  /** The content type of the stream, where it is not `text/event-stream`. */
  streamType?: "application/x-ndjson";
  /** Name of the schema of errors, where it is not Error. */
  error?: string;
  /** Statuses with an error's body, and when they occur. */
  failures: Record<string, string>;
  /** Name of the schema of a 503 that has another body than Error. */
  unready?: string;
}
