import type { RequestLimits } from "../../openapi/request-limits.ts";
import type { Clock } from "../../platform/clock.ts";
import type { ModelLoads } from "../admission/model-load.ts";
import type { Grammars } from "../grammar/grammar-compiler.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { ModelSet } from "../models/model-set.ts";

export interface ExecuteDeps {
  models: ModelSet;
  /** Of online requests. */
  loads: ModelLoads;
  metrics: Metrics;
  grammars: Grammars;
  limits: RequestLimits;
  clock: Clock;
  randomId: () => string;
  /** How long one line may take once the engine has started it; its wait in the engine's queue is not the line's fault. */
  lineTimeoutMs: number;
}
