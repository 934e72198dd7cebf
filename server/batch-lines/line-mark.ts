import type { ModelFacts } from "../../engine/protocol/config.ts";
import { reportedNames } from "../../openapi/ignored-fields.ts";

interface LineMark {
  tier: "batch";
  upstream?: string;
  ignored?: string[];
}

/**
 * `nightshift` in the answer of every line: the tier that it ran at, the upstream that computed it, and the fields of its
 * body that were not used, which have a header in a response of HTTP.
 */
export function lineMark(ignored: readonly string[], { upstream }: Pick<ModelFacts, "upstream">): LineMark {
  return {
    tier: "batch",
    ...(upstream !== null && { upstream: upstream.name }),
    ...(ignored.length > 0 && { ignored: reportedNames(ignored) }),
  };
}
