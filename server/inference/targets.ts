import { type Caller, mayUseTier } from "../../ledger/key.ts";
import { ApiError } from "../../openapi/api-error.ts";
import { Overload } from "../admission/overload.ts";
import type { Routing } from "../routing/router.ts";
import type { InferenceRequest } from "./endpoint.ts";

/** A model for a request, and the request at one tier. */
export interface Target {
  /** Null for the only one that the key may use. */
  model: string | null;
  request: InferenceRequest;
  /** The reason where an earlier target's refusal led here; null for the first one. */
  overflow: "overflow" | "flex" | null;
}

/** Statuses of a model that does not take the request now: not served, overloaded for flex, not ready or overloaded. */
const OVERFLOWS = [404, 429, 503];

/**
 * The targets of a request, each once: the models of its route at its own tier, then at flex. That needs the route's leave, the
 * client's, and the key's.
 */
export async function* targetsOf(
  request: InferenceRequest,
  routing: Routing | null,
  caller: Caller,
): AsyncGenerator<Target, void, void> {
  const models = routing?.models ?? [request.model];
  for (const [index, model] of models.entries()) yield { model, request, overflow: index === 0 ? null : "overflow" };
  if (routing?.flex !== true || request.asFlex === undefined || !mayUseTier(caller, "flex")) return;
  const flex = await request.asFlex();
  for (const model of models) yield { model, request: flex, overflow: "flex" };
}

/**
 * The result for the first target that admits the request. Where none does, throws the first Overload, which passes and may
 * become a job, else the first error. An error of the first target that says more than that it has no room is thrown at once;
 * one of a later target is about a model that the client did not choose.
 */
export async function firstOf<T>(targets: AsyncIterable<Target>, admit: (target: Target) => Promise<T>): Promise<T> {
  let refusal: unknown;
  for await (const target of targets) {
    try {
      return await admit(target);
    } catch (error) {
      const isFirst = refusal === undefined;
      if (!(error instanceof ApiError) || (isFirst && !OVERFLOWS.includes(error.status))) throw error;
      if (isFirst || (error instanceof Overload && !(refusal instanceof Overload))) refusal = error;
    }
  }
  throw refusal;
}
