import type { RequestHandler } from "express";
import type { Operation } from "../../openapi/document/operation.ts";

/** Handlers by path of the OpenAPI document and by method. */
export type Routes = Readonly<Record<string, Partial<Record<Operation["method"], RequestHandler>>>>;
