import { Registry } from "prom-client";
import { expect, onTestFinished, test, vi } from "vitest";
import { ApiError } from "../../../../openapi/api-error.ts";
import { DEFAULT_REQUEST_LIMITS } from "../../../../openapi/request-limits.ts";
import { ModelLoads } from "../../../../server/admission/model-load.ts";
import type { BackgroundStore } from "../../../../server/batch-lines/background-line.ts";
import { JournalSink } from "../../../../server/batch-lines/journal-sink.ts";
import type { ExecuteDeps } from "../../../../server/batch-lines/line-deps.ts";
import { lineExecutor } from "../../../../server/batch-lines/line-executor.ts";
import type { RunJournal } from "../../../../server/batch-lines/run-journal.ts";
import { Seal } from "../../../../server/dialects/responses/sealed-text.ts";
import { Metrics } from "../../../../server/metrics/metrics.ts";
import { ModelSet } from "../../../../server/models/model-set.ts";
import { chatLine } from "../../../batch/batch-rig.ts";
import { FACTS, FakeEngine, saying } from "../fake-engine.ts";
import { GRAMMARS_HERE } from "../grammar/grammars-here.ts";

const NO_BACKGROUND: BackgroundStore = {
  begin: async () => null,
  answered: async () => {},
  failed: async () => {},
  whole: async () => Promise.reject(new Error("no background response")),
};
const CLOCK = { now: () => 0, epochMs: () => 0 };

function executor(parts: Pick<ExecuteDeps, "models"> & Partial<ExecuteDeps>) {
  return lineExecutor({
    loads: new ModelLoads(() => 0),
    metrics: new Metrics(new Registry()),
    grammars: GRAMMARS_HERE,
    limits: DEFAULT_REQUEST_LIMITS,
    completions: { reserve: async () => () => {}, add: async () => {} },
    background: NO_BACKGROUND,
    seal: new Seal(Buffer.alloc(32)),
    clock: CLOCK,
    randomId: () => "id",
    lineTimeoutMs: 60_000,
    ...parts,
  });
}

const contextOf = (model: string) => ({
  requestId: "req_a",
  batchId: "batch_a",
  owner: "local",
  model,
  signal: new AbortController().signal,
});

test("a line that the engine refuses counts as refused, with the version of its own model", async () => {
  const engines = [new FakeEngine("small"), new FakeEngine("large")];
  engines[1]!.facts = { ...FACTS, fingerprint: "fp_large" };
  engines[1]!.script = (request) => request.fail(new ApiError("context_length_exceeded", "too long"));
  const metrics = new Metrics(new Registry());
  const execute = executor({
    models: new ModelSet(engines.map((engine) => ({ id: engine.model, engine, created: 0 }))),
    metrics,
  });
  const context = contextOf("large");
  const { body } = chatLine("a", "hi", { model: "large" });
  await execute("/v1/chat/completions", body, context);
  const { values } = await metrics.registry.getSingleMetric("nightshift_requests_total")!.get();
  expect(values.filter(({ value }) => value > 0).map(({ labels }) => labels.status)).toEqual(["refused"]);
  const invalid = await execute("/v1/chat/completions", { model: "large" }, context);
  expect(invalid).toMatchObject({ version: "fp_large" });
});

test("a line runs on its batch's model after an alias in its body was moved to another", async () => {
  const engines = { small: new FakeEngine("small"), large: new FakeEngine("large") };
  for (const engine of Object.values(engines)) engine.script = saying("yes");
  const served = Object.entries(engines).map(([id, engine]) => ({ id, engine, created: 0 }));
  const execute = executor({ models: new ModelSet(served, { aliases: { "gpt-4o": "large" }, otherwise: null }) });
  const { body } = chatLine("a", "hi", { model: "gpt-4o" });
  const context = contextOf("small");
  const result = await execute("/v1/chat/completions", body, context);
  expect(engines.large.requests).toEqual([]);
  expect(engines.small.requests).toHaveLength(1);
  expect(result.how === "answered" && JSON.parse(result.body).model).toBe("small");
});

test("the answer of a line names the fields of its body that were not used", async () => {
  const engine = new FakeEngine("demo");
  engine.script = saying("yes");
  const execute = executor({ models: new ModelSet([{ id: "demo", engine, created: 0 }]) });
  const context = contextOf("demo");
  const markOf = async (fields: object) => {
    const { body } = chatLine("a", "hi", { model: "demo", ...fields });
    const result = await execute("/v1/chat/completions", body, context);
    return result.how === "answered" && JSON.parse(result.body).nightshift;
  };
  expect(await markOf({})).toEqual({ tier: "batch" });
  expect(await markOf({ user: "u", n_probs: 3 })).toEqual({ tier: "batch", ignored: ["user", "n_probs"] });
});

test("a line whose answer has no place is refused before it is generated", async () => {
  const engine = new FakeEngine("demo");
  const refusal = new ApiError("storage_quota_exceeded", "full");
  const completions = { reserve: () => Promise.reject(refusal), add: async () => {} };
  const execute = executor({ models: new ModelSet([{ id: "demo", engine, created: 0 }]), completions });
  const { body } = chatLine("a", "hi", { store: true });
  expect(await execute("/v1/chat/completions", body, contextOf("demo"))).toMatchObject({
    statusCode: 507,
    usage: null,
  });
  expect(engine.requests).toEqual([]);
});

test("a line that is preempted drops what it has, and its wait for the next turn is no part of its time", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const engine = new FakeEngine("demo");
  const execute = executor({ models: new ModelSet([{ id: "demo", engine, created: 0 }]), lineTimeoutMs: 1000 });
  const submitted = engine.next();
  const executed = execute("/v1/chat/completions", chatLine("a", "hi").body, contextOf("demo"));
  const request = await submitted;
  request.begin().say("lost");
  await vi.advanceTimersByTimeAsync(999);
  expect(request.listener.mayRestart("died")).toBe(false);
  expect(request.listener.mayRestart("preempted")).toBe(true);
  await vi.advanceTimersByTimeAsync(5000);
  request.begin().say("kept").finish();
  const result = await executed;
  expect(result.how === "answered" && JSON.parse(result.body).choices[0].message.content).toBe("kept");
});

test("a line whose outputs are sent as they come is not preempted after the first", () => {
  const said: unknown[] = [];
  const journal = { started: () => {}, output: (output: unknown) => void said.push(output) };
  const sink = new JournalSink(journal as unknown as RunJournal, () => {});
  sink.started();
  expect(sink.opened).toBe(false);
  sink.output(0, { id: 0, index: 0, text: "a", reasoning: "", tokens: 1, finish: null });
  expect([sink.opened, said.length]).toEqual([true, 1]);
});
