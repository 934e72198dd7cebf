import type { RequestHandler } from "express";
import { openApiDocument } from "../../openapi/document/document.ts";
import type { RequestLimits } from "../../openapi/request-limits.ts";
import { sendJson } from "../http/respond.ts";

export function openapi(limits: RequestLimits, version: string): RequestHandler {
  let text: string | null = null;
  return (req, res) => {
    text ??= JSON.stringify(openApiDocument(limits, version));
    sendJson(req, res, 200, text);
  };
}
