import { describe, expect, test } from "vitest";
import { KEPT_UPLOADS } from "../../../store/tables/uploads.ts";
import type { NewResponse } from "../../../store/types/answer-rows.ts";
import { newResponse } from "./answers/answer-rows.ts";
import { memoryTables, runningBatch } from "./memory-tables.ts";
import { FREE, fileRow, ledgerRow, newBatch, newEvent, newLines } from "./rows.ts";

const ok = { state: "done", kind: "output", requestId: "req_1", statusCode: 200, body: "{}" } as const;

test("create with a used Idempotency-Key returns its batch, or a conflict for another request", () => {
  const { batches } = memoryTables();
  const idempotency = { key: "k", requestSha256: "aa" };
  expect(batches.writes.create({ batch: newBatch("b1"), idempotency, maxOpen: null })).toMatchObject({
    outcome: "created",
  });
  const again = batches.writes.create({ batch: newBatch("b2"), idempotency, maxOpen: null });
  expect(again).toMatchObject({ outcome: "replayed", batch: { id: "b1", status: "validating" } });
  const other = { key: "k", requestSha256: "bb" };
  expect(batches.writes.create({ batch: newBatch("b3"), idempotency: other, maxOpen: null })).toEqual({
    outcome: "conflict",
  });
  const owner = "someone else";
  expect(batches.writes.create({ batch: newBatch("b4", { owner }), idempotency, maxOpen: null })).toMatchObject({
    outcome: "created",
  });
});

test("create with an input file adds both rows, or neither where storage refuses the file or the response", () => {
  const { batches, files } = memoryTables();
  const row = fileRow("f");
  const create = (bounds: { quotaBytes: number | null; maxFiles: number }, response: NewResponse | null = null) => {
    const batch = newBatch("b", { inputFileId: row.id });
    return batches.writes.create({ batch, idempotency: null, maxOpen: null, input: { row, ...bounds }, response });
  };
  const rows = () => [files.reads.get({ owner: "local", id: "f" }), batches.reads.find({ id: "b" })];
  const free = { quotaBytes: null, maxFiles: 1 };
  const refused = { ...newResponse("r"), bounds: { quotaBytes: null, maxAnswers: 0 } };
  expect(create({ quotaBytes: 4095, maxFiles: 1 })).toEqual({ outcome: "file_refused", refusal: "over_quota" });
  expect(create({ quotaBytes: null, maxFiles: 0 })).toEqual({ outcome: "file_refused", refusal: "too_many" });
  expect(create(free, refused)).toEqual({ outcome: "not_kept", keeping: "too_many" });
  expect(rows()).toEqual([null, null]);
  expect(files.reads.storage("local").files).toBe(0);
  expect(create(free)).toMatchObject({ outcome: "created" });
  expect(rows()).toMatchObject([{ id: "f" }, { id: "b", inputFileId: "f" }]);
});

test("lists are newest first and reject cursors that are unknown or another owner's", () => {
  const { batches } = memoryTables();
  for (const id of ["b1", "b2", "b3"]) batches.writes.create({ batch: newBatch(id), idempotency: null, maxOpen: null });
  batches.writes.create({ batch: newBatch("foreign", { owner: "B" }), idempotency: null, maxOpen: null });
  const list = (after: string | null) => batches.reads.list({ owner: "local", limit: 2, after });
  expect(list(null)).toMatchObject({ rows: [{ id: "b3" }, { id: "b2" }], hasMore: true });
  expect(list("b2")).toMatchObject({ rows: [{ id: "b1" }], hasMore: false });
  expect(list("absent")).toBe("unknown_cursor");
  expect(list("foreign")).toBe("unknown_cursor");
});

test("lines are claimed batch by batch in the order of their positions", () => {
  const { batches, lines, claims } = memoryTables();
  for (const id of ["b1", "b2"]) {
    batches.writes.create({ batch: newBatch(id), idempotency: null, maxOpen: null });
    lines.rebuilds.insert({ batchId: id, lines: newLines(4, { positions: [4, 2, 1, 3] }) });
    batches.writes.begin({ id, now: 1, model: "demo" });
  }
  const { lines: claimed } = claims.writes.claim({ batchIds: ["b2", "b1"], limit: 5, nowMs: 0, terms: FREE });
  expect(claimed.map(({ batchId, number }) => `${batchId}/${number}`)).toEqual([
    "b2/3",
    "b2/2",
    "b2/4",
    "b2/1",
    "b1/3",
  ]);
});

test("a line number is unique in its batch", () => {
  const { batches, lines } = memoryTables();
  batches.writes.create({ batch: newBatch("b"), idempotency: null, maxOpen: null });
  lines.rebuilds.insert({ batchId: "b", lines: newLines(3) });
  expect(() => lines.rebuilds.insert({ batchId: "b", lines: newLines(1) })).toThrow(/UNIQUE/);
});

test("begin counts the batch's lines and their tokens", () => {
  const { batches, lines } = memoryTables();
  batches.writes.create({ batch: newBatch("b"), idempotency: null, maxOpen: null });
  lines.rebuilds.insert({ batchId: "b", lines: newLines(2) });
  batches.writes.begin({ id: "b", now: 1, model: "demo" });
  expect(batches.reads.find({ id: "b" })).toMatchObject({ total: 2, estimatedTokens: 20 });
});

test("a released line is not claimed before its due time", () => {
  const tables = memoryTables();
  runningBatch(tables, "b", 1);
  const { claims, lines } = tables;
  const claim = (nowMs: number) => claims.writes.claim({ batchIds: ["b"], limit: 1, nowMs, terms: FREE }).lines;
  claims.writes.release({ claims: claim(0), notBeforeMs: 5000 });
  expect(claim(4999)).toEqual([]);
  expect(lines.reads.nextDueMs({ batchId: "b" })).toBe(5000);
  expect(claim(5000)).toMatchObject([{ attempt: 2 }]);
});

test("finalize writes files, status and events together, only after the last line", () => {
  const tables = memoryTables();
  runningBatch(tables, "b", 1);
  const { batches, claims, files, outbox } = tables;
  expect(batches.writes.beginFinalizing({ id: "b", now: 5 })).toBe(false);
  const [claim] = claims.writes.claim({ batchIds: ["b"], limit: 1, nowMs: 0, terms: FREE }).lines;
  const ledger = ledgerRow({ batchId: "b", line: 1, tier: "batch" });
  expect(claims.writes.commit({ claim: claim!, outcome: ok, ledger })).toEqual({ outcome: "committed", remaining: 0 });
  const outputFile = fileRow("file-out", { purpose: "batch_output" });
  const end = {
    id: "b",
    status: "completed",
    now: 9,
    outputFile,
    errorFile: null,
    events: [newEvent("evt_1")],
  } as const;
  expect(batches.writes.finalize({ ...end, events: [...end.events] })).toBe(false);
  expect(batches.writes.beginFinalizing({ id: "b", now: 5 })).toBe(true);
  expect(batches.writes.finalize({ ...end, events: [...end.events] })).toBe(true);
  expect(batches.writes.finalize({ ...end, events: [...end.events] })).toBe(false);
  expect(batches.reads.find({ id: "b" })).toMatchObject({
    status: "completed",
    finalizingAt: 5,
    completedAt: 9,
    outputFileId: "file-out",
    errorFileId: null,
    inputTokens: 100,
    costNano: 1000,
  });
  expect(files.reads.get({ owner: "local", id: "file-out" })).toEqual(outputFile);
  expect(outbox.reads.due({ nowMs: 1_000_000, limit: 10 })).toHaveLength(1);
  expect(batches.writes.cancel({ owner: "local", id: "b", now: 10 })).toMatchObject({ outcome: "terminal" });
  expect(files.writes.remove({ owner: "local", id: "file-out" })).toBe("removed");
  expect(files.reads.hasResults({ id: "file-out" })).toBe(false);
  expect(tables.results.rebuilds.discard({ limit: 10 })).toBe(1);
  expect(tables.results.reads.count({ batchId: "b", kind: "output" })).toBe(0);
  expect([0, 1].map(() => tables.results.rebuilds.discard({ limit: 10 }))).toEqual([0, null]);
});

test("the input file of an open batch cannot be removed and does not expire", () => {
  const { files, batches } = memoryTables();
  files.writes.insert({ row: fileRow("file-in", { expiresAt: 50 }), quotaBytes: null, maxFiles: 10_000 });
  batches.writes.create({ batch: newBatch("b"), idempotency: null, maxOpen: null });
  expect(files.writes.remove({ owner: "local", id: "file-in" })).toBe("in_use");
  expect(files.writes.removeExpired({ now: 100, limit: 10 })).toEqual([]);
  batches.writes.fail({ id: "b", now: 60, errors: "{}", model: null, events: [] });
  expect(files.writes.removeExpired({ now: 100, limit: 10 })).toEqual(["file-in"]);
  expect(files.writes.remove({ owner: "local", id: "file-in" })).toBe("absent");
});

test("a batch does not keep another owner's file from removal", () => {
  const { files, batches } = memoryTables();
  files.writes.insert({ row: fileRow("file-in", { owner: "another" }), quotaBytes: null, maxFiles: 10_000 });
  batches.writes.create({ batch: newBatch("b"), idempotency: null, maxOpen: null });
  expect(files.writes.remove({ owner: "another", id: "file-in" })).toBe("removed");
});

test("the storage quota counts files and open uploads' parts as at least one block each", () => {
  const { files, uploads } = memoryTables();
  const insert = (id: string) => files.writes.insert({ row: fileRow(id), quotaBytes: 10_000, maxFiles: 10_000 });
  expect(insert("a")).toBe("inserted");
  uploads.writes.insert({
    row: {
      id: "upload_1",
      owner: "local",
      filename: "x.jsonl",
      purpose: "batch",
      bytes: 120,
      mimeType: "application/jsonl",
      fileExpiresAfter: null,
      status: "pending",
      createdAt: 1,
      expiresAt: 100,
      fileId: null,
    },
    maxOpen: 10,
  });
  const part = { id: "part_1", uploadId: "upload_1", bytes: 100, md5: "00", createdAt: 2 };
  const add = (id: string, now = 2) =>
    uploads.writes.addPart({ owner: "local", part: { ...part, id }, quotaBytes: 10_000, maxParts: 10, now });
  expect(add("part_1")).toBe("added");
  expect(add("part_2")).toBe("too_large");
  expect(add("part_3", 100)).toBe("not_pending");
  expect(insert("b")).toBe("over_quota");
  expect(uploads.writes.expire({ now: 100, limit: 5 })).toEqual([{ id: "upload_1", partIds: ["part_1"] }]);
  expect(insert("b")).toBe("inserted");
});

describe("storage limits of an owner", () => {
  const empty = { owner: "local", filename: "x", purpose: "user_data", mimeType: "text/plain", fileExpiresAfter: null };
  const pending = { ...empty, status: "pending", createdAt: 1, expiresAt: 100, fileId: null } as const;

  test("the file limit includes files of completed uploads", () => {
    const { files, uploads } = memoryTables();
    const insert = (id: string) => files.writes.insert({ row: fileRow(id), quotaBytes: null, maxFiles: 2 });
    expect([insert("a"), insert("b"), insert("c")]).toEqual(["inserted", "inserted", "too_many"]);
    uploads.writes.insert({ row: { ...pending, id: "upload_1", bytes: 0 }, maxOpen: 10 });
    const complete = () =>
      uploads.writes.complete({ owner: "local", id: "upload_1", file: fileRow("d", { bytes: 0 }), maxFiles: 2 });
    expect(complete()).toBe("too_many");
    files.writes.remove({ owner: "local", id: "a" });
    expect(complete()).toMatchObject({ id: "upload_1" });
    expect(files.reads.storage("local")).toEqual({ files: 2, answers: 0, bytes: 8192 });
    for (const id of ["b", "d"]) files.writes.remove({ owner: "local", id });
    expect(files.reads.storage("local")).toEqual({ files: 0, answers: 0, bytes: 0 });
  });

  test("the limit of open uploads ignores terminal ones, of which the latest are kept", () => {
    const { uploads, db } = memoryTables();
    const insert = (id: string) =>
      uploads.writes.insert({ row: { ...pending, id, bytes: 0 }, maxOpen: KEPT_UPLOADS + 2 });
    const ids = Array.from({ length: KEPT_UPLOADS + 2 }, (_, n) => `upload_${n}`);
    expect(new Set(ids.map(insert))).toEqual(new Set(["inserted"]));
    expect(insert("upload_more")).toBe("too_many");
    for (const id of ids) {
      uploads.writes.cancel({ owner: "local", id });
      expect(uploads.reads.get({ owner: "local", id })).toMatchObject({ status: "cancelled" });
    }
    expect(db.prepare("SELECT count(*) FROM uploads").pluck().get()).toBe(KEPT_UPLOADS);
    expect(insert("upload_more")).toBe("inserted");
  });

  test("surplus terminal uploads are removed a few at a time", () => {
    const { uploads, db } = memoryTables();
    const insert = (id: string, status: "pending" | "completed") =>
      uploads.writes.insert({ row: { ...pending, id, status, bytes: 0 }, maxOpen: 10 });
    for (let n = 0; n < KEPT_UPLOADS + 30; n++) insert(`upload_${n}`, "completed");
    const left = () => db.prepare("SELECT count(*) FROM uploads").pluck().get();
    for (const expected of [KEPT_UPLOADS + 11, KEPT_UPLOADS]) {
      insert(`ended_${expected}`, "pending");
      uploads.writes.cancel({ owner: "local", id: `ended_${expected}` });
      expect(left()).toBe(expected);
    }
  });

  test("the part limit holds, and only an empty upload takes an empty part", () => {
    const { files, uploads } = memoryTables();
    uploads.writes.insert({ row: { ...pending, id: "upload_1", bytes: 10 }, maxOpen: 10 });
    uploads.writes.insert({ row: { ...pending, id: "upload_0", bytes: 0 }, maxOpen: 10 });
    const add = (id: string, uploadId: string, bytes: number) => {
      const part = { id, uploadId, bytes, md5: "00", createdAt: 2 };
      return uploads.writes.addPart({ owner: "local", part, quotaBytes: 12_288, maxParts: 2, now: 2 });
    };
    expect([
      add("a", "upload_1", 0),
      add("b", "upload_1", 1),
      add("c", "upload_1", 1),
      add("d", "upload_1", 1),
    ]).toEqual(["empty", "added", "added", "too_many"]);
    expect([add("e", "upload_0", 0), add("f", "upload_0", 0)]).toEqual(["added", "over_quota"]);
    expect(files.reads.storage("local")).toEqual({ files: 0, answers: 0, bytes: 12_288 });
    uploads.writes.expire({ now: 100, limit: 5 });
    expect(files.reads.storage("local")).toEqual({ files: 0, answers: 0, bytes: 0 });
  });
});

test("a line whose backoff exceeds the longest is due, and a start ends all backoffs", () => {
  const tables = memoryTables();
  runningBatch(tables, "b", 3);
  const { claims } = tables;
  const claim = (nowMs: number, limit = 3) =>
    claims.writes.claim({ batchIds: ["b"], limit, nowMs, terms: FREE }).lines.map(({ number }) => number);
  const back = (number: number, attempt: number, notBeforeMs: number) =>
    claims.writes.release({ claims: [{ batchId: "b", number, attempt }], notBeforeMs });
  const now = 10 * 3_600_000;
  expect(claim(now)).toEqual([1, 2, 3]);
  back(1, 1, now + 60_000);
  back(2, 1, now + 30_000);
  back(3, 1, now - 1);
  expect(claim(now)).toEqual([3]);
  // The clock is set back by two hours.
  expect(claim(now - 2 * 3_600_000)).toEqual([1, 2]);
  back(1, 2, now + 60_000);
  back(2, 2, now + 60_000);
  expect(claims.writes.recover()).toBe(1);
  expect(claim(now)).toEqual([1, 2, 3]);
});
