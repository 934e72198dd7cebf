import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import type { ModelFacts } from "../../../../engine/protocol/config.ts";
import { ApiError, unavailable } from "../../../../openapi/api-error.ts";
import { StoreError } from "../../../../store/types/store-error.ts";
import { chatLine, jsonl } from "../../../batch/batch-rig.ts";
import { FACTS, FakeEngine, saying } from "../../server/fake-engine.ts";
import { FREE, newLines } from "../../store/rows.ts";
import { testStore } from "../../store/test-store.ts";
import { batchRig, CALLER, OWNER } from "../batch-rig.ts";
import { pass, stopTime } from "../stopped-time.ts";

beforeEach(stopTime);

const lines = (count: number) => Array.from({ length: count }, (_, i) => chatLine(`l${i}`, `question ${i}`));

/** An engine that answers all lines but the one with "question 1". */
function answeringBut(first: (request: Parameters<NonNullable<FakeEngine["script"]>>[0]) => void): FakeEngine {
  const engine = new FakeEngine();
  engine.script = (request) => {
    if (JSON.stringify(request.submission.prompt).includes("question 1")) first(request);
    else saying("yes")(request);
  };
  return engine;
}

const nope = () => new ApiError("invalid_value", "No.");

describe("while the store is not writable", () => {
  it("a line after a passing fault is released later and does not stay claimed", async () => {
    let busy = 0;
    const engine = answeringBut((request) => {
      if (busy++ === 0) request.fail(unavailable("engine_restarting", "Busy.", 1));
      else saying("yes")(request);
    });
    const rig = await batchRig(engine);
    const { release } = rig.store.claims;
    let refused = 0;
    rig.store.claims.release = async (args) => {
      if (refused++ === 0) throw new StoreError("busy", "busy");
      return release(args);
    };
    const batch = await rig.reaches(await rig.submit(jsonl(lines(3))), "completed");
    expect(batch.request_counts).toEqual({ total: 3, completed: 3, failed: 0 });
    expect(refused).toBeGreaterThan(1);
  });

  it("a failed end of a batch removes the files that it wrote", async () => {
    const rig = await batchRig(answeringBut((request) => request.fail(nope())));
    const { finalize } = rig.store.batches;
    let refused = 0;
    rig.store.batches.finalize = async (args) => {
      if (refused++ === 0) throw new StoreError("full", "full");
      return finalize(args);
    };
    await rig.reaches(await rig.submit(jsonl(lines(3))), "completed");
    // The input, the output and the errors.
    expect(readdirSync(join(rig.folder, "files"))).toHaveLength(3);
  });

  it("files of a committed end whose answer was lost stay", async () => {
    const rig = await batchRig(answeringBut((request) => request.fail(nope())));
    const { finalize } = rig.store.batches;
    rig.store.batches.finalize = async (args) => {
      await finalize(args);
      throw new StoreError("closed", "gone");
    };
    const batch = await rig.reaches(await rig.submit(jsonl(lines(3))), "completed");
    await expect.poll(() => rig.lines.filter((line) => line.startsWith("A step of a batch failed"))).toHaveLength(1);
    expect(rig.read(batch.output_file_id)).toHaveLength(2);
    expect(rig.read(batch.error_file_id)).toHaveLength(1);
  });
});

describe("a fault of the server", () => {
  const givenUp = [{ custom_id: "l1", response: { status_code: 500, body: { error: { type: "server_error" } } } }];

  it.each(["constraint", "internal"] as const)(
    "that the store reports for a result (%s) becomes the line's error",
    async (code) => {
      const rig = await batchRig(answeringBut((request) => saying("yes")(request)));
      const { commit } = rig.store.claims;
      let refused = 0;
      rig.store.claims.commit = async (args) => {
        if (args.claim.number === 2 && args.outcome.state === "done") {
          refused++;
          throw new StoreError(code, "no");
        }
        return commit(args);
      };
      const batch = await rig.reaches(await rig.submit(jsonl(lines(3))), "completed");
      expect(batch.request_counts).toEqual({ total: 3, completed: 2, failed: 1 });
      expect(rig.read(batch.error_file_id)).toMatchObject(givenUp);
      expect(refused).toBe(5);
    },
  );

  it("at every run of a line fails the line", async () => {
    const engine = answeringBut((request) => saying("yes")(request));
    const { submit } = engine;
    let thrown = 0;
    engine.submit = (submission, listener) => {
      if (JSON.stringify(submission.prompt).includes("question 1")) {
        thrown++;
        throw new TypeError("no");
      }
      return submit.call(engine, submission, listener);
    };
    const rig = await batchRig(engine);
    const batch = await rig.reaches(await rig.submit(jsonl(lines(3))), "completed");
    expect(rig.read(batch.error_file_id)).toMatchObject(givenUp);
    expect(thrown).toBe(5);
  });

  it("after many passing faults does not fail the line", async () => {
    let asked = 0;
    const engine = answeringBut((request) => {
      asked++;
      if (asked <= 6) request.fail(unavailable("upstream_unavailable", "Not there.", 1));
      else if (asked <= 10) request.fail(new ApiError("upstream_failed", "Broken off."));
      else saying("yes")(request);
    });
    const rig = await batchRig(engine);
    const batch = await rig.reaches(await rig.submit(jsonl(lines(3))), "completed");
    expect(batch.request_counts).toEqual({ total: 3, completed: 3, failed: 0 });
    expect(asked).toBe(11);
  });

  it("at reading lines fails the lines", async () => {
    const engine = new FakeEngine();
    engine.state = { name: "loading", progress: 0 };
    let loaded = (_: ModelFacts) => {};
    const facts = new Promise<ModelFacts>((resolve) => {
      loaded = resolve;
    });
    engine.ready = () => facts;
    const rig = await batchRig(engine);
    const id = await rig.submit(jsonl(lines(3)));
    const { input_file_id } = await rig.reaches(id, "in_progress");
    rmSync(rig.files.pathOf(input_file_id));
    engine.state = { name: "ready" };
    loaded(FACTS);
    const batch = await rig.reaches(id, "completed");
    expect(batch.request_counts).toEqual({ total: 3, completed: 0, failed: 3 });
  });

  it("that lost the bytes of an input file fails its batch", async () => {
    const rig = await batchRig(new FakeEngine());
    const input_file_id = await rig.upload(jsonl(lines(1)));
    rmSync(rig.files.pathOf(input_file_id));
    const body = { input_file_id, endpoint: "/v1/chat/completions", completion_window: "24h" };
    const batch = await rig.reaches((await rig.batches.create(CALLER, body, null)).id, "failed");
    expect(batch.errors?.data).toMatchObject([{ code: "invalid_request", param: "file_id", line: null }]);
  });
});

it("the line timeout starts when the engine starts the line, not when it waits", async () => {
  const engine = new FakeEngine();
  const rig = await batchRig(engine, { lineTimeoutMs: 60_000 });
  const id = await rig.submit(jsonl(lines(2)));
  await expect.poll(() => engine.requests.length).toBe(2);
  const [queued, slow] = engine.requests;
  slow?.begin();
  // The waiting line takes longer than the timeout, the running line does not.
  await pass(59);
  expect(slow?.cancelled).toBe(false);
  await pass(1);
  await slow?.whenCancelled;
  expect(queued?.cancelled).toBe(false);
  saying("yes")(queued!);
  const batch = await rig.reaches(id, "completed");
  expect(batch.request_counts).toEqual({ total: 2, completed: 1, failed: 1 });
  expect(rig.read(batch.error_file_id)).toMatchObject([{ response: null, error: { code: "request_timeout" } }]);
});

it("a line that shared the engine with a withdrawn line counts no lone death", async () => {
  const store = await testStore();
  const times = { createdAt: 1, expiresAt: 9 };
  const nothing = {
    estimatedTokens: 0,
    metadata: null,
    outputExpiresAfter: null,
    completionWindow: "24h",
    inputFileId: "file-x",
  };
  for (const id of ["batch_a", "batch_b"]) {
    const batch = { id, owner: OWNER, keyId: null, endpoint: "/v1/chat/completions" as const, ...times, ...nothing };
    await store.batches.create({ batch, idempotency: null, maxOpen: null });
    await store.lines.insert({ batchId: id, lines: newLines(1) });
    await store.batches.begin({ id, now: 2, model: "demo" });
  }
  const { lines: claimed } = await store.claims.claim({
    batchIds: ["batch_a", "batch_b"],
    limit: 2,
    nowMs: 0,
    terms: FREE,
  });
  await store.lines.end({ batchId: "batch_a", state: "cancelled", running: true, error: "{}", limit: 1 });
  const claims = claimed.map(({ batchId, number, attempt }) => ({ batchId, number, attempt }));
  const { suspects } = await store.claims.engineDied({ claims, withOthers: false, failure: "{}" });
  const again = await store.claims.claimSuspects({ suspect: suspects[0] ?? 0, limit: 1, nowMs: 0, terms: FREE });
  expect(again).toMatchObject([{ batchId: "batch_b", loneDeaths: 0 }]);
});

it("the sweeper removes Idempotency-Keys after a week", async () => {
  const rig = await batchRig(new FakeEngine());
  const body = { input_file_id: "file-x", endpoint: "/v1/chat/completions", completion_window: "24h" };
  const { id } = await rig.batches.create(CALLER, body, "young");
  const now = Math.floor(Date.now() / 1000);
  const old = {
    id: "batch_old",
    owner: OWNER,
    keyId: null,
    endpoint: "/v1/chat/completions" as const,
    inputFileId: "file-x",
    completionWindow: "24h",
    metadata: null,
    outputExpiresAfter: null,
    createdAt: now - 8 * 86_400,
    expiresAt: now + 100,
    estimatedTokens: 0,
  };
  await rig.store.batches.create({ batch: old, idempotency: { key: "old", requestSha256: "0" }, maxOpen: null });
  await rig.sweeper.sweep();
  expect((await rig.batches.create(CALLER, body, "young")).id).toBe(id);
  expect((await rig.batches.create(CALLER, body, "old")).id).not.toBe("batch_old");
});
