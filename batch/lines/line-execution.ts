import type { BatchEndpoint } from "../../openapi/resources/batches.ts";

export interface LineUsage {
  inputTokens: number;
  /** Part of inputTokens. */
  cachedTokens: number;
  outputTokens: number;
  /** Part of outputTokens. */
  reasoningTokens: number;
  /** True where an upstream has not counted all of these tokens. */
  estimated: boolean;
}

/**
 * | how | meaning | the line |
 * |---|---|---|
 * | answered | the status and body that the synchronous endpoint would have sent | is committed |
 * | passing | a fault that passes and is not the line's: the model is not ready, say | is pending after a backoff |
 * | fault | the server failed at it | is pending a few times, then fails |
 * | engine_died | it was in the engine when the engine process died | becomes a suspect |
 * | timed_out | it took longer than a line may | fails |
 * | stopped | the signal aborted it | is pending, or ends with its batch |
 */
export type Executed =
  | {
      how: "answered";
      statusCode: number;
      /** JSON text. */
      body: string;
      /** Null for no charge. */
      usage: LineUsage | null;
      /** Fingerprint of the weights that answered. */
      version: string;
    }
  | { how: "passing"; reason: string }
  | { how: "fault"; reason: string }
  | {
      how: "engine_died";
      reason: string /** True where online requests were in the engine too. */;
      withOthers: boolean;
    }
  | { how: "timed_out"; message: string }
  | { how: "stopped" };

/** Runs one line's body; never rejects. */
export type Execute = (
  endpoint: BatchEndpoint,
  body: unknown,
  /** `model`: the own name of the batch's model; the name in the body may mean another model by now. */
  context: { requestId: string; batchId: string; owner: string; model: string; signal: AbortSignal },
) => Promise<Executed>;
