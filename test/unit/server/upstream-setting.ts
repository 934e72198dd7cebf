import { DEFAULT_TIMEOUTS, NO_CAPS } from "../../../engine/upstream/dialect/upstream-config.ts";
import type { UpstreamSetting } from "../../../server/options/kinds/upstream-kind.ts";

/** The setting of an upstream that only has replicas. */
export function upstreamSetting(
  name: string,
  replicas: string[],
  more: Partial<UpstreamSetting> = {},
): UpstreamSetting {
  return {
    ...{
      name,
      replicas: replicas.map((url) => ({ url, weight: 1 })),
      kind: null,
      models: null,
      apiKeyEnv: null,
      apiKeyFile: null,
    },
    ...{ priority: "none", context: null, trusted: false, timeouts: DEFAULT_TIMEOUTS, rate: NO_CAPS, hedge: false },
    ...more,
  };
}
