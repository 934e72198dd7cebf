import type { UpstreamKind } from "./dialect.ts";

/** Tokens of prompt and answer. */
export const DEFAULT_CONTEXT = 4096;

export interface UpstreamOptions {
  kind: UpstreamKind;
  /** Default: `m`. */
  model?: string;
  /** Default: DEFAULT_CONTEXT. */
  context?: number;
  /** Requests that are computed at once, and that may wait behind them; the next one is refused. Default: no bound. */
  slots?: number;
  queue?: number;
  /** Milliseconds until the first token, and of each token. Default: 0. */
  prefillMs?: number;
  stepMs?: number;
  /** Bearer that paths below `/v1` ask for. Default: none. */
  apiKey?: string;
  /** False where the engine runs without its metrics. */
  metrics?: boolean;
  /** True where the engine schedules by `priority`: vLLM the lower first, SGLang the higher. vLLM refuses the field otherwise. */
  priority?: boolean;
  /** Cached tokens that usage tells; null: the engine does not. */
  cachedTokens?: number | null;
}
