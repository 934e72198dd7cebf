import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { DEFAULT_REQUEST_LIMITS } from "../../../../openapi/request-limits.ts";
import { ModelLoads } from "../../../../server/admission/model-load.ts";
import { lineExecutor } from "../../../../server/batch-lines/line-executor.ts";
import { Metrics } from "../../../../server/metrics/metrics.ts";
import { ModelSet } from "../../../../server/models/model-set.ts";
import { chatLine } from "../../../batch/batch-rig.ts";
import { FakeEngine, saying } from "../fake-engine.ts";
import { GRAMMARS_HERE } from "../grammar/grammars-here.ts";

test("a line runs on its batch's model after an alias in its body was moved to another", async () => {
  const engines = { small: new FakeEngine("small"), large: new FakeEngine("large") };
  for (const engine of Object.values(engines)) engine.script = saying("yes");
  const served = Object.entries(engines).map(([id, engine]) => ({ id, engine, created: 0 }));
  const execute = lineExecutor({
    models: new ModelSet(served, { aliases: { "gpt-4o": "large" }, otherwise: null }),
    loads: new ModelLoads(() => 0),
    metrics: new Metrics(new Registry()),
    grammars: GRAMMARS_HERE,
    limits: DEFAULT_REQUEST_LIMITS,
    clock: { now: () => 0, epochMs: () => 0 },
    randomId: () => "id",
    lineTimeoutMs: 60_000,
  });
  const { body } = chatLine("a", "hi", { model: "gpt-4o" });
  const context = { requestId: "req_a", owner: "local", model: "small", signal: new AbortController().signal };
  const result = await execute("/v1/chat/completions", body, context);
  expect(engines.large.requests).toEqual([]);
  expect(engines.small.requests).toHaveLength(1);
  expect(result.how === "answered" && JSON.parse(result.body).model).toBe("small");
});
