import type { RequestLimits } from "../../openapi/request-limits.ts";
import type { Clock } from "../../platform/clock.ts";
import type { ModelLoads } from "../admission/model-load.ts";
import type { CompletionStore } from "../dialects/chat-storage.ts";
import type { Seal } from "../dialects/responses/sealed-text.ts";
import type { Grammars } from "../grammar/grammar-compiler.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { ModelSet } from "../models/model-set.ts";
import type { BackgroundLine, BackgroundStore } from "./background-line.ts";

export interface ExecuteDeps {
  models: ModelSet;
  /** The loads of online requests. */
  loads: ModelLoads;
  metrics: Metrics;
  grammars: Grammars;
  limits: RequestLimits;
  /** Keeps the chat completions of lines with `store`. */
  completions: CompletionStore;
  /** Of the reasoning in responses. */
  seal: Seal;
  background: BackgroundStore;
  clock: Clock;
  randomId: () => string;
  /** Milliseconds that a line may take from its start in the engine; its queue wait does not count. */
  lineTimeoutMs: number;
}

/** A batch line in execution. */
export interface LineContext {
  owner: string;
  /** Aborted when the line is to stop. */
  signal: AbortSignal;
  /** The background response that the line runs; null for none. */
  background: BackgroundLine | null;
}

/** The owner under which a line's grammars are queued: apart from the owner's online requests. */
export function grammarOwner(owner: string): string {
  return `batch ${owner}`;
}
