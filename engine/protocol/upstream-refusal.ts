import { type ApiError, invalidRequest } from "../../openapi/api-error.ts";
import type { RequestFeature, UpstreamFacts } from "./config.ts";

/** The 400 for a request with one of these features, where the upstream does not take it; else null. */
export function upstreamRefusal(
  { name, refuses }: UpstreamFacts,
  features: ReadonlySet<RequestFeature>,
): ApiError | null {
  const feature = refuses.find((one) => features.has(one));
  return feature === undefined ? null : featureRefusal(name, feature);
}

export function featureRefusal(upstream: string, feature: RequestFeature): ApiError {
  return invalidRequest(
    "upstream_refused",
    null,
    `The upstream '${upstream}' does not take ${feature} for this model.`,
  );
}
