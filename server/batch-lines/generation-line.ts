import type { Executed, LineUsage } from "../../batch/lines/line-execution.ts";
import { jsonBytes } from "../../openapi/json/json-pieces.ts";
import { epochSeconds } from "../../platform/clock.ts";
import type { ReadyModel } from "../admission/ready-model.ts";
import { requireTask } from "../admission/task-check.ts";
import type { Dialect } from "../generation/generation-endpoint.ts";
import { checkInfill } from "../generation/infill-prompt.ts";
import { BodySink } from "../generation/output/body-sink.ts";
import type { GenerationRequest } from "../generation/request.ts";
import { RequestRun, type RunUsage } from "../generation/request-run.ts";
import { checkTokens } from "../generation/token-id-check.ts";
import { withinContext } from "../generation/truncation.ts";
import { enforceForm } from "../grammar/tool-grammar.ts";
import { statusOf } from "../inference/request-count.ts";
import { type ExecuteDeps, grammarOwner, type LineContext } from "./line-deps.ts";
import { lineMark } from "./line-mark.ts";
import { failedLine, timedOutLine, watchLine } from "./line-outcome.ts";

export interface GenerationLineParts {
  dialect: Dialect;
  request: GenerationRequest;
  ready: ReadyModel;
  line: LineContext;
}

/** Runs a batch line that generates. Throws the ApiError of a body that its model cannot take, or whose answer has no room. */
export async function generateLine(deps: ExecuteDeps, parts: GenerationLineParts): Promise<Executed> {
  const release = await parts.request.reserve?.({ owner: parts.line.owner, key: null });
  try {
    return await runLine(deps, parts);
  } finally {
    release?.();
  }
}

async function runLine(
  deps: ExecuteDeps,
  { dialect, request: given, ready, line }: GenerationLineParts,
): Promise<Executed> {
  const { loads, metrics, grammars, clock, randomId, lineTimeoutMs } = deps;
  const { owner, signal, background } = line;
  const asked = background === null ? given : background.kept(given);
  requireTask(ready.facts, "generate");
  checkInfill(asked.submissions, ready.facts);
  checkTokens(asked.submissions, ready.facts);
  const request = asked.truncate ? await withinContext(asked, ready, signal) : asked;
  if (signal.aborted) return { how: "stopped" };
  const { endpoint } = dialect;
  const model = ready.model.id;
  const identity = {
    ...(background?.identity ?? { id: `${dialect.idPrefix}${randomId()}`, created: epochSeconds(clock) }),
    model,
    tier: "default" as const,
    fingerprint: ready.facts.fingerprint,
  };
  const form = () => enforceForm(request, ready.facts);
  const prompts = await grammars.run(form, grammarOwner(owner), signal);
  const meter = metrics.meter(model, endpoint, "batch");
  const choices = request.submissions.reduce((sum, { n }) => sum + n, 0);
  const firstToken = () => run.firstContent();
  const sink = background?.sink(request, identity, firstToken) ?? new BodySink(choices, firstToken);
  const submissions = prompts.map((prompt) => ({ ...prompt, owner, endpoint, tier: "batch" as const }));
  let run: RequestRun;
  const start = (runs: (running: boolean) => void) => {
    const arrivedAt = clock.now();
    run = new RequestRun({ submissions, ready, sink, meter, clock, arrivedAt, runs, diesWithEngine: true });
    return run;
  };
  const watch = { signal, timeoutMs: lineTimeoutMs, online: loads.of(model) };
  const { outcome, timedOut, withOthers } = await watchLine(start, watch);
  meter.ended(outcome.status === "error" ? statusOf(outcome.error) : outcome.status);
  if (timedOut) return timedOutLine(lineTimeoutMs);
  switch (outcome.status) {
    case "cancelled":
      return { how: "stopped" };
    case "error":
      return failedLine(outcome.error, endpoint, ready.facts.fingerprint, withOthers);
    case "ok": {
      const caller = { owner, key: null };
      await request.keep?.({ identity, choices: sink.choices, end: outcome, caller, requestId: null });
      const whole = request.whole(identity, sink.choices, outcome);
      const body = String(await jsonBytes({ ...whole, nightshift: lineMark(request.ignored, ready.facts) }));
      const version = ready.facts.fingerprint;
      return { how: "answered", statusCode: 200, body, usage: lineUsage(outcome), version };
    }
  }
}

function lineUsage({ usage, estimated }: RunUsage): LineUsage {
  return {
    inputTokens: usage.prompt_tokens,
    cachedTokens: usage.prompt_tokens_details.cached_tokens,
    outputTokens: usage.completion_tokens,
    reasoningTokens: usage.completion_tokens_details.reasoning_tokens,
    estimated,
  };
}
