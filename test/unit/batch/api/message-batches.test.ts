import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { MessageBatches } from "../../../../batch/api/message-batches.ts";
import type { MessageBatchResult } from "../../../../openapi/anthropic/batches.ts";
import type { Batch } from "../../../../openapi/resources/batches.ts";
import { FakeEngine, saying } from "../../server/fake-engine.ts";
import { batchRig, CALLER, OWNER } from "../batch-rig.ts";
import { pass, stopTime } from "../stopped-time.ts";
import { neverValid } from "../validation/validate-here.ts";

const DAY = 86_400;
const WINDOW = 30;

/** Message batches over an engine that answers this number of requests, and holds all others. */
async function opened(answered: number, options: Parameters<typeof batchRig>[1] = {}) {
  const engine = new FakeEngine();
  let begun = 0;
  engine.script = (request) => {
    if (begun++ < answered) saying("yes")(request);
  };
  const rig = await batchRig(engine, { windowSeconds: WINDOW, ...options });
  const messages = new MessageBatches({ ...rig, maxLineBytes: 1024 * 1024, clock: rig.time });
  return {
    rig,
    messages,
    create: () => {
      const params = { model: "demo", max_tokens: 9, messages: [{ role: "user", content: "Hi" }] };
      const requests = ["a", "b", "c"].map((custom_id) => ({ custom_id, params }));
      return messages.create(CALLER, { requests }, () => true);
    },
    /** The batch that is this one in OpenAI's API. */
    reaches: (id: string, status: Batch["status"]) => rig.reaches(id.replace("msgbatch_", "batch_"), status),
    completes: (id: string, count: number) =>
      expect.poll(async () => (await rig.get(id.replace("msgbatch_", "batch_"))).request_counts.completed).toBe(count),
    /** The type of each result. */
    async results(id: string): Promise<Record<string, string>> {
      const all: MessageBatchResult[] = [];
      for await (const result of await messages.results(OWNER, id)) all.push(result);
      return Object.fromEntries(all.map(({ custom_id, result }) => [custom_id, result.type]));
    },
  };
}

describe("a message batch that expires", () => {
  it("has the results that came in time, and `expired` for the others", async () => {
    stopTime();
    const { messages, create, reaches, completes, results } = await opened(1);
    const { id, expires_at } = await create();
    await reaches(id, "in_progress");
    await completes(id, 1);
    await pass(WINDOW);
    await reaches(id, "expired");
    const ended = await messages.get(OWNER, id);
    expect(ended).toMatchObject({
      processing_status: "ended",
      request_counts: { processing: 0, succeeded: 1, errored: 0, canceled: 0, expired: 2 },
      cancel_initiated_at: null,
      archived_at: null,
      results_url: "",
    });
    expect(Date.parse(ended.ended_at!)).toBeGreaterThanOrEqual(Date.parse(expires_at));
    expect(Object.values(await results(id)).sort()).toEqual(["expired", "expired", "succeeded"]);
  });

  it("before any request ran has `expired` for each", async () => {
    stopTime();
    const { messages, create, reaches, results } = await opened(0, { validate: neverValid });
    const { id } = await create();
    await pass(WINDOW);
    await reaches(id, "expired");
    expect((await messages.get(OWNER, id)).request_counts).toMatchObject({ processing: 0, expired: 3 });
    expect(await results(id)).toEqual({ a: "expired", b: "expired", c: "expired" });
  });
});

describe("a message batch that is canceled", () => {
  it("has the results that came before, and `canceled` for the others", async () => {
    stopTime();
    const { messages, create, reaches, completes, results } = await opened(1, { graceMs: 2000 });
    const { id } = await create();
    await reaches(id, "in_progress");
    await completes(id, 1);
    const canceling = await messages.cancel(OWNER, id);
    expect(canceling).toMatchObject({
      processing_status: "canceling",
      request_counts: { processing: 3, succeeded: 0, canceled: 0 },
      cancel_initiated_at: expect.any(String),
      ended_at: null,
      results_url: null,
    });
    await expect(messages.results(OWNER, id)).rejects.toMatchObject({ status: 400 });
    await expect(messages.remove(OWNER, id)).rejects.toMatchObject({ status: 400 });
    await reaches(id, "cancelled");
    expect(await messages.get(OWNER, id)).toMatchObject({
      processing_status: "ended",
      request_counts: { processing: 0, succeeded: 1, errored: 0, canceled: 2, expired: 0 },
      cancel_initiated_at: canceling.cancel_initiated_at,
    });
    expect(Object.values(await results(id)).sort()).toEqual(["canceled", "canceled", "succeeded"]);
  });

  it("before any request ran has `canceled` for each", async () => {
    const { messages, create, reaches, results } = await opened(0, { validate: neverValid });
    const { id } = await create();
    await messages.cancel(OWNER, id);
    await reaches(id, "cancelled");
    expect((await messages.get(OWNER, id)).request_counts).toMatchObject({ processing: 0, canceled: 3 });
    expect(await results(id)).toEqual({ a: "canceled", b: "canceled", c: "canceled" });
  });
});

describe("the removal of a message batch", () => {
  async function cancelled() {
    stopTime();
    const { rig, messages, create, reaches, completes } = await opened(1, { graceMs: 2000 });
    const { id } = await create();
    await completes(id, 1);
    await messages.cancel(OWNER, id);
    await reaches(id, "cancelled");
    return { rig, messages, id };
  }

  it("takes no result from a reader that has begun", async () => {
    const { messages, id } = await cancelled();
    const results = await messages.results(OWNER, id);
    const read = [(await results.next()).value];
    await messages.remove(OWNER, id);
    for await (const result of results) read.push(result);
    expect(read.map(({ result }) => result.type).sort()).toEqual(["canceled", "canceled", "succeeded"]);
  });

  it("while its results are opened is 404", async () => {
    const { rig, messages, id } = await cancelled();
    const get = rig.files.get.bind(rig.files);
    const removedAfter = async (owner: string, file: string) => {
      const row = await get(owner, file);
      if (row.purpose === "batch_output") await rig.files.remove(owner, file);
      return row;
    };
    vi.spyOn(rig.files, "get").mockImplementation(removedAfter);
    await expect(messages.results(OWNER, id)).rejects.toMatchObject({ status: 404 });
  });
});

it("a message batch is archived after 29 days, without its results", async () => {
  stopTime();
  const { rig, messages, create, reaches } = await opened(3);
  const { id, created_at } = await create();
  await reaches(id, "completed");
  await pass(29 * DAY);
  await rig.files.removeExpired(Math.floor(Date.now() / 1000));
  const archived = await messages.get(OWNER, id);
  expect(archived).toMatchObject({ processing_status: "ended", results_url: null, request_counts: { succeeded: 3 } });
  expect(Date.parse(archived.archived_at!) - Date.parse(created_at)).toBe(29 * DAY * 1000);
  await expect(messages.results(OWNER, id)).rejects.toMatchObject({ status: 404 });
});

it("a message batch that is refused leaves no file", async () => {
  const { rig, create } = await opened(0, { validate: neverValid, maxOpen: 1 });
  await create();
  const files = readdirSync(join(rig.folder, "files"));
  await expect(create()).rejects.toMatchObject({ status: 429 });
  expect(readdirSync(join(rig.folder, "files"))).toEqual(files);
  expect(readdirSync(join(rig.folder, "tmp"))).toEqual([]);
});
