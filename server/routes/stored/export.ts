import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { RequestHandler } from "express";
import { validate } from "../../../openapi/generation/validate.ts";
import { exportQuery } from "../../../openapi/stored/completions.ts";
import { callerOf } from "../../http/context/caller.ts";
import type { Routes } from "../../http/routes.ts";
import { fromStore } from "../../http/store-error-response.ts";
import { type AnswerStore, exportLines } from "../../stored/export/export-lines.ts";
import { readMetadataQuery } from "./metadata-query.ts";

export function exportRoutes(store: AnswerStore, stallMs: number): Routes {
  return { "/v1/nightshift/export": { get: exportSamples(store, stallMs) } };
}

/** GET /v1/nightshift/export: lines of JSON. A failure after the first line ends the connection. */
function exportSamples(store: AnswerStore, stallMs: number): RequestHandler {
  return async (req, res) => {
    const query = validate(exportQuery, readMetadataQuery(req));
    const lines = exportLines(store, callerOf(req).owner, query);
    // The first line is made before the head is sent, so that a failing store is answered with its error.
    const first = await fromStore(lines.next());
    res.attachment("samples.jsonl");
    res.setHeader("content-type", "application/jsonl");
    if (req.method === "HEAD" || first.done === true) {
      await lines.return(undefined);
      res.end();
      return;
    }
    res.setTimeout(stallMs, () => res.destroy());
    const all = async function* () {
      yield first.value;
      yield* lines;
    };
    await pipeline(Readable.from(all()), res).catch((error: NodeJS.ErrnoException) => {
      // A client that disconnects during an export is no error.
      if (error.code !== "ERR_STREAM_PREMATURE_CLOSE") throw error;
    });
  };
}
