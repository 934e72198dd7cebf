import type { Executed } from "../../batch/lines/line-execution.ts";
import type { ReadyModel } from "../admission/ready-model.ts";
import { checkInputs, requireTask } from "../admission/task-check.ts";
import { EmbeddingRun } from "../embedding/embedding-run.ts";
import type { VectorRequest } from "../embedding/vector-request.ts";
import { statusOf } from "../inference/request-count.ts";
import type { ExecuteDeps, LineContext } from "./line-deps.ts";
import { lineMark } from "./line-mark.ts";
import { failedLine, timedOutLine, watchLine } from "./line-outcome.ts";

/** Runs a batch line of /v1/embeddings. Throws the ApiError of a body that its model cannot take. */
export async function embedLine(
  { loads, metrics, clock, lineTimeoutMs }: Pick<ExecuteDeps, "loads" | "metrics" | "clock" | "lineTimeoutMs">,
  request: VectorRequest,
  ready: ReadyModel,
  { owner, signal }: LineContext,
): Promise<Executed> {
  const { model, facts } = ready;
  requireTask(facts, request.task);
  checkInputs(request, facts);
  if (signal.aborted) return { how: "stopped" };
  const endpoint = "/v1/embeddings";
  const meter = metrics.meter(model.id, endpoint, "batch");
  const submission = { tier: "batch" as const, owner, endpoint, inputs: request.inputs };
  const arrivedAt = clock.now();
  const { outcome, timedOut, withOthers } = await watchLine(
    (runs) => new EmbeddingRun({ submission, ready, meter, clock, arrivedAt, runs, diesWithEngine: true }),
    { signal, timeoutMs: lineTimeoutMs, online: loads.of(model.id) },
  );
  meter.ended(outcome.status === "error" ? statusOf(outcome.error) : outcome.status);
  if (timedOut) return timedOutLine(lineTimeoutMs);
  switch (outcome.status) {
    case "cancelled":
      return { how: "stopped" };
    case "error":
      return failedLine(outcome.error, "/v1/embeddings", facts.fingerprint, withOthers);
    case "ok": {
      const { vectors, promptTokens, estimated } = outcome;
      const mark = { nightshift: lineMark(request.ignored, facts) };
      const body = await request.write(model.id, vectors, promptTokens, mark);
      const usage = { inputTokens: promptTokens, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0, estimated };
      return {
        how: "answered",
        statusCode: 200,
        body,
        usage,
        version: facts.fingerprint,
      };
    }
  }
}
