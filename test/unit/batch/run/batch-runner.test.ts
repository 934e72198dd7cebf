import { describe, expect, it } from "vitest";
import { ApiError, unavailable } from "../../../../openapi/api-error.ts";
import type { Batch } from "../../../../openapi/resources/batches.ts";
import type { Store } from "../../../../store/store.ts";
import { chatLine, ids, jsonl } from "../../../batch/batch-rig.ts";
import { FakeEngine, saying } from "../../server/fake-engine.ts";
import { batchRig, CALLER, OWNER } from "../batch-rig.ts";
import { stopTime } from "../stopped-time.ts";
import { neverValid } from "../validation/validate-here.ts";

const lines = (count: number, more: Record<string, unknown> = {}) =>
  Array.from({ length: count }, (_, i) => chatLine(`l${i}`, `question ${i}`, more));

function answering(): FakeEngine {
  const engine = new FakeEngine();
  engine.script = saying("yes");
  return engine;
}

describe("a batch", () => {
  it("runs each line once, and sums up usage and costs", async () => {
    const rig = await batchRig(answering());
    const id = await rig.submit(jsonl(lines(200)));
    const batch = await rig.reaches(id, "completed");
    expect(batch).toMatchObject({
      request_counts: { total: 200, completed: 200, failed: 0 },
      error_file_id: null,
      failed_at: null,
      expired_at: null,
      cancelled_at: null,
      usage: {
        input_tokens: 1000,
        input_tokens_details: { cached_tokens: 400 },
        output_tokens: 200,
        total_tokens: 1200,
      },
      // 600 new, 400 cached and 200 output tokens at 1, 0.5 and 2 USD per million, at half price.
      nightshift: { phase: "ended", cost: { usd: 0.0006 } },
    });
    expect(batch.in_progress_at).not.toBeNull();
    expect(batch.finalizing_at).not.toBeNull();
    const output = rig.read(batch.output_file_id);
    expect(ids(output)).toEqual(ids(lines(200)));
    expect(output[0]?.response?.body).toMatchObject({ service_tier: "default", nightshift: { tier: "batch" } });
    expect(output[0]?.error).toBeNull();
  });

  it("shows the rate of its forecast while it is in progress, and none afterwards", async () => {
    stopTime();
    const engine = new FakeEngine();
    let answer = () => {};
    engine.script = (request) => {
      if (engine.requests.length <= 4) saying("yes")(request);
      else answer = () => saying("yes")(request);
    };
    const rig = await batchRig(engine);
    const id = await rig.submit(jsonl(lines(5)));
    await rig.reaches(id, "in_progress");
    const running = async () => (await rig.get(id)).nightshift;
    await expect.poll(async () => (await running()).progress.tokens_per_second).toBeGreaterThan(0);
    const { progress, eta } = await running();
    const left = (progress.tokens_total - progress.tokens_done) / progress.tokens_per_second!;
    expect(Math.abs(eta! - Date.now() / 1000 - left)).toBeLessThanOrEqual(1);
    answer();
    expect((await rig.reaches(id, "completed")).nightshift.progress.tokens_per_second).toBeNull();
  });

  it("runs at tier batch for every service tier in its bodies", async () => {
    const engine = answering();
    const rig = await batchRig(engine);
    const id = await rig.submit(jsonl(lines(3, { service_tier: "priority" })));
    await rig.reaches(id, "completed");
    expect(engine.requests.map(({ submission }) => submission.tier)).toEqual(["batch", "batch", "batch"]);
  });

  it("writes request errors to the error file, and retries passing faults", async () => {
    stopTime();
    const engine = new FakeEngine();
    let busy = 0;
    engine.script = (request) => {
      const text = JSON.stringify(request.submission.prompt);
      if (text.includes("question 1")) {
        request.fail(new ApiError("invalid_value", "No."));
      } else if (text.includes("question 2") && busy++ === 0)
        request.fail(unavailable("engine_restarting", "Busy.", 1));
      else saying("yes")(request);
    };
    const rig = await batchRig(engine);
    const batch = await rig.reaches(await rig.submit(jsonl(lines(3))), "completed");
    expect(batch.request_counts).toEqual({ total: 3, completed: 2, failed: 1 });
    expect(rig.read(batch.error_file_id)).toMatchObject([
      { custom_id: "l1", response: { status_code: 400, body: { error: { code: "invalid_value" } } }, error: null },
    ]);
    expect(busy).toBe(2);
  });

  it("whose lines all fail is completed without an output file", async () => {
    const engine = new FakeEngine();
    engine.script = (request) => request.fail(new ApiError("invalid_value", "No."));
    const rig = await batchRig(engine);
    const batch = await rig.reaches(await rig.submit(jsonl(lines(5))), "completed");
    expect(batch).toMatchObject({ output_file_id: null, request_counts: { total: 5, completed: 0, failed: 5 } });
    expect(rig.read(batch.error_file_id)).toHaveLength(5);
  });

  it("of an unknown file is created, and then fails", async () => {
    const rig = await batchRig(answering());
    const body = { input_file_id: "file-nowhere", endpoint: "/v1/chat/completions", completion_window: "24h" };
    const { id, status } = await rig.batches.create(CALLER, body, null);
    expect(status).toBe("validating");
    const batch = await rig.reaches(id, "failed");
    expect(batch.errors?.data).toMatchObject([{ code: "invalid_request", param: "file_id", line: null }]);
    expect(batch.in_progress_at).toBeNull();
  });

  it("queues its webhook events in the transaction of its end", async () => {
    const rig = await batchRig(answering());
    const id = await rig.submit(jsonl(lines(2)));
    await rig.reaches(id, "completed");
    const due = await rig.store.outbox.due({ nowMs: Date.now() + 1000, limit: 10 });
    expect(due).toMatchObject([{ type: "batch.completed" }]);
    expect(JSON.parse(due[0]?.payload ?? "")).toMatchObject({ object: "event", data: { id } });
  });
});

describe("cancel", () => {
  it("keeps finished lines, lets lines in the engine end within the grace, and cancels the rest", async () => {
    stopTime();
    const engine = new FakeEngine();
    let count = 0;
    let answerLate = () => {};
    engine.script = (request) => {
      if (count++ < 4) saying("yes")(request);
      else answerLate = () => saying("late")(request);
    };
    const rig = await batchRig(engine, { graceMs: 2000 });
    const id = await rig.submit(jsonl(lines(100)));
    await rig.reaches(id, "in_progress");
    await expect.poll(async () => (await rig.get(id)).request_counts.completed).toBe(4);
    const cancelling = await rig.batches.cancel(OWNER, id);
    expect(cancelling.status).toBe("cancelling");
    answerLate();
    expect((await rig.batches.cancel(OWNER, id)).id).toBe(id);
    const batch = await rig.reaches(id, "cancelled");
    const { completed, failed, total } = batch.request_counts;
    expect([total, failed]).toEqual([100, 0]);
    expect(completed).toBe(5);
    const output = rig.read(batch.output_file_id);
    const errors = rig.read(batch.error_file_id);
    expect(output).toHaveLength(completed);
    expect(ids([...output, ...errors])).toEqual(ids(lines(100)));
    expect(errors[0]).toMatchObject({ response: null, error: { code: "batch_cancelled" } });
    expect(engine.requests.filter((request) => request.cancelled)).toHaveLength(engine.requests.length - 5);
    expect((await rig.batches.cancel(OWNER, id)).status).toBe("cancelled");
  });

  it.each<[string, Batch["status"], (store: Store, cancel: (id: string) => Promise<Batch>) => void]>([
    [
      "while a result is on its way to the store",
      "cancelled",
      ({ claims }, cancel) => {
        const { commit } = claims;
        claims.commit = async (args) => {
          await cancel(args.claim.batchId);
          return commit(args);
        };
      },
    ],
    [
      "after the last line, before the batch is finalizing",
      "cancelled",
      ({ batches }, cancel) => {
        const { beginFinalizing } = batches;
        let looks = 0;
        batches.beginFinalizing = async (args) => {
          if (looks++ > 0) await cancel(args.id);
          return beginFinalizing(args);
        };
      },
    ],
    [
      "while the batch is finalizing",
      "completed",
      ({ batches }, cancel) => {
        const { finalize } = batches;
        batches.finalize = async (args) => {
          await cancel(args.id);
          return finalize(args);
        };
      },
    ],
  ])("%s leads to one end (%s) with every line once", async (_, end, meddle) => {
    const rig = await batchRig(answering());
    let cancelled: Promise<Batch> | null = null;
    const cancel = (id: string) => {
      cancelled ??= rig.batches.cancel(OWNER, id);
      return cancelled;
    };
    meddle(rig.store, cancel);
    const batch = await rig.reaches(await rig.submit(jsonl(lines(30))), end);
    expect(cancelled).not.toBeNull();
    const all = [...rig.read(batch.output_file_id), ...rig.read(batch.error_file_id)];
    expect(ids(all)).toEqual(ids(lines(30)));
  });

  it("of a batch that waits for its validation takes effect at once", async () => {
    const rig = await batchRig(answering(), { validate: neverValid });
    const [validating, waiting] = [await rig.submit(jsonl(lines(1))), await rig.submit(jsonl(lines(1)))];
    await rig.batches.cancel(OWNER, waiting);
    await rig.reaches(waiting, "cancelled");
    expect((await rig.get(validating)).status).toBe("validating");
    await rig.batches.cancel(OWNER, validating);
    await rig.reaches(validating, "cancelled");
  });

  it("of a batch that is over is a 409 that no client retries", async () => {
    const rig = await batchRig(answering());
    const id = await rig.submit(jsonl(lines(1)));
    await rig.reaches(id, "completed");
    const error: unknown = await rig.batches.cancel(OWNER, id).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      status: 409,
      message: "Cannot cancel a batch with status 'completed'.",
      shouldRetry: false,
    });
  });
});

describe("create", () => {
  const body = { input_file_id: "file-x", endpoint: "/v1/chat/completions", completion_window: "24h" };

  it("with an Idempotency-Key creates one batch, and refuses the key for another request", async () => {
    const rig = await batchRig(answering());
    const once = await rig.batches.create(CALLER, { ...body, metadata: { a: "1", b: "2" } }, "key");
    const twice = await rig.batches.create(CALLER, { ...body, metadata: { b: "2", a: "1" } }, "key");
    expect(twice.id).toBe(once.id);
    await expect(rig.batches.create(CALLER, body, "key")).rejects.toMatchObject({ status: 409, shouldRetry: false });
    expect((await rig.batches.list(OWNER, 10, null)).data).toHaveLength(1);
  });

  it.each([
    ["endpoint", { ...body, endpoint: "/v1/nothing" }, "invalid_value"],
    ["completion_window", { ...body, completion_window: "7d" }, "invalid_value"],
    ["metadata", { ...body, metadata: "text" }, "invalid_type"],
    [
      "metadata",
      { ...body, metadata: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [i, "x"])) },
      "invalid_type",
    ],
    ["input_file_id", { ...body, input_file_id: undefined }, "missing_required_parameter"],
  ])("refuses a bad %s", async (param, bad, code) => {
    const rig = await batchRig(answering());
    await expect(rig.batches.create(CALLER, bad, null)).rejects.toMatchObject({ status: 400, param, code });
  });
});

describe("one open batch more than an owner may have", () => {
  const body = { input_file_id: "file-x", endpoint: "/v1/chat/completions", completion_window: "24h" };

  it("is a 429 that no client retries, until a batch of this owner is over", async () => {
    const engine = new FakeEngine();
    const rig = await batchRig(engine, { maxOpen: 2 });
    const create = (owner: string, key: string | null = null) => rig.batches.create({ owner, key: null }, body, key);
    const first = await rig.submit(jsonl(lines(1)));
    await rig.submit(jsonl(lines(1)));
    const refusal = { status: 429, type: "rate_limit_error", code: "rate_limit_exceeded", shouldRetry: false };
    await expect(create(OWNER, "key")).rejects.toMatchObject(refusal);
    await create("somebody else");
    await rig.batches.cancel(OWNER, first);
    await rig.reaches(first, "cancelled");
    // The refusal has not used up the key.
    const { id } = await create(OWNER, "key");
    // A repeated create makes no batch.
    const bounded = await rig.reaches(id, "failed");
    await rig.submit(jsonl(lines(1)));
    await expect(create(OWNER)).rejects.toMatchObject(refusal);
    expect((await create(OWNER, "key")).id).toBe(bounded.id);
  });
});

describe("the list", () => {
  it("is newest first, in pages, and refuses an unknown cursor", async () => {
    const rig = await batchRig(answering());
    const made: string[] = [];
    for (let i = 0; i < 5; i++) made.unshift(await rig.submit(jsonl(lines(1))));
    const first = await rig.batches.list(OWNER, 2, null);
    const second = await rig.batches.list(OWNER, 3, first.data[1]?.id ?? "");
    expect([...first.data, ...second.data].map(({ id }) => id)).toEqual(made);
    expect([first.hasMore, second.hasMore]).toEqual([true, false]);
    await expect(rig.batches.list(OWNER, 2, "batch_unknown")).rejects.toMatchObject({ status: 400, param: "after" });
  });
});
