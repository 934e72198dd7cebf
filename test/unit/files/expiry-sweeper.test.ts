import { existsSync, readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { ExpirySweeper } from "../../../files/expiry-sweeper.ts";
import { WallTime } from "../../../platform/wall-time.ts";
import { newBatch } from "../store/rows.ts";
import { freshFolder } from "../store/test-store.ts";
import { bytesOf, ManualClock, openFileStores, RecordedLog } from "./files-rig.ts";

const LIMIT = { bytes: 1000, error: () => new Error("too large") as never };
const HOUR = 3600;

function sweeperOf({ files, uploads }: Awaited<ReturnType<typeof openFileStores>>, clock: ManualClock) {
  const log = new RecordedLog();
  const tasks = [
    { name: "files", run: (now: number) => files.removeExpired(now) },
    { name: "uploads", run: (now: number) => uploads.expire(now) },
  ];
  return { sweeper: new ExpirySweeper(new WallTime(clock, log), log, tasks), log };
}

async function addFile({ files }: Awaited<ReturnType<typeof openFileStores>>, expiresAfter: number | null) {
  const incoming = await files.receive("local", bytesOf("x"), LIMIT);
  return files.add(incoming, { owner: "local", purpose: "user_data", filename: "x", expiresAfter });
}

describe("expiry", () => {
  test("removes row and bytes at the expiry time, also across a restart", async () => {
    const dataDir = freshFolder();
    const clock = new ManualClock();
    const before = await openFileStores({ dataDir, clock });
    const file = await addFile(before, HOUR);
    const forever = await addFile(before, null);
    const first = sweeperOf(before, clock);
    clock.pass(HOUR - 1);
    await first.sweeper.sweep();
    expect(readdirSync(before.at("files"))).toHaveLength(2);
    await before.store.close();

    clock.pass(1);
    const after = await openFileStores({ dataDir, clock });
    const second = sweeperOf(after, clock);
    await second.sweeper.sweep();
    expect(readdirSync(after.at("files"))).toEqual([forever.id]);
    await expect(after.files.get("local", file.id)).rejects.toMatchObject({ status: 404 });
    expect(second.log.lines).toMatchObject([{ level: "info", fields: { what: "files", ended: 1 } }]);
  });

  test("waits for an open batch that reads the file", async () => {
    const stores = await openFileStores();
    const { id } = await addFile(stores, HOUR);
    await stores.store.batches.create({
      batch: newBatch("batch_1", { inputFileId: id }),
      idempotency: null,
      maxOpen: null,
    });
    stores.clock.pass(2 * HOUR);
    const { sweeper } = sweeperOf(stores, stores.clock);
    await sweeper.sweep();
    expect(existsSync(stores.files.pathOf(id))).toBe(true);
    await stores.store.batches.fail({ id: "batch_1", now: 1, errors: "{}", model: null, events: [] });
    await sweeper.sweep();
    expect(existsSync(stores.files.pathOf(id))).toBe(false);
  });

  test("expires a pending upload after its hour, with its parts", async () => {
    const stores = await openFileStores();
    const { uploads, clock, at } = stores;
    const upload = await uploads.create({
      owner: "local",
      filename: "x",
      purpose: "user_data",
      bytes: 3,
      mimeType: "text/plain",
      expiresAfter: null,
    });
    await uploads.addPart("local", upload.id, await uploads.receivePart("local", bytesOf("abc")));
    const { sweeper } = sweeperOf(stores, clock);
    clock.pass(HOUR - 1);
    await sweeper.sweep();
    expect(readdirSync(at("parts"))).toHaveLength(1);
    clock.pass(1);
    await sweeper.sweep();
    expect(readdirSync(at("parts"))).toEqual([]);
    expect(await uploads.get("local", upload.id)).toMatchObject({ status: "expired" });
  });

  test("removes terminal uploads a week after their expiry, also across a restart", async () => {
    const dataDir = freshFolder();
    const clock = new ManualClock();
    const before = await openFileStores({ dataDir, clock });
    const upload = {
      owner: "local",
      filename: "x",
      purpose: "user_data",
      bytes: 0,
      mimeType: "text/plain",
      expiresAfter: null,
    } as const;
    const create = () => before.uploads.create(upload);
    const [completed, cancelled, expired] = await Promise.all([create(), create(), create()]);
    const { file } = await before.uploads.complete("local", completed.id, [], null);
    await before.uploads.cancel("local", cancelled.id);
    clock.pass(HOUR);
    await before.uploads.expire(clock.seconds);
    await before.store.close();

    const { uploads, files } = await openFileStores({ dataDir, clock });
    clock.pass(7 * 24 * HOUR);
    const young = await uploads.create(upload);
    expect(await uploads.forget(clock.seconds)).toBe(0);
    clock.pass(1);
    expect(await uploads.forget(clock.seconds)).toBe(3);
    for (const { id } of [completed, cancelled, expired]) {
      await expect(uploads.get("local", id)).rejects.toMatchObject({ status: 404 });
    }
    expect(await uploads.get("local", young.id)).toMatchObject({ status: "pending" });
    expect(await files.get("local", file.id)).toEqual(file);
  });

  test("removes more files than fit into one round", async () => {
    const stores = await openFileStores();
    const row = { owner: "local", purpose: "batch", filename: "x", bytes: 1, sha256: "", createdAt: 1, expiresAt: 2 };
    const ids = Array.from({ length: 1100 }, (_, i) => `file-${String(i).padStart(24, "0")}`);
    await Promise.all(
      ids.map((id) => stores.store.files.insert({ row: { ...row, id }, quotaBytes: null, maxFiles: 10_000 })),
    );
    expect(await stores.files.removeExpired(3)).toBe(1100);
  });

  test("runs the next task when one fails", async () => {
    const log = new RecordedLog();
    const ran: number[] = [];
    const clock = new ManualClock();
    const sweeper = new ExpirySweeper(new WallTime(clock, log), log, [
      { name: "bad", run: () => Promise.reject(new Error("no")) },
      { name: "good", run: async (now) => ran.push(now) },
    ]);
    await sweeper.sweep();
    expect(ran).toEqual([clock.seconds]);
    expect(log.lines[0]).toMatchObject({ level: "error", fields: { what: "bad" } });
  });

  test("runs periodically until stop, which awaits a running sweep", async () => {
    const log = new RecordedLog();
    let sweeps = 0;
    let ended = 0;
    let resolveThird = () => {};
    const third = new Promise<void>((resolve) => {
      resolveThird = resolve;
    });
    const run = async () => {
      if (++sweeps === 3) resolveThird();
      await new Promise(setImmediate);
      return ++ended && 0;
    };
    const sweeper = new ExpirySweeper(new WallTime(new ManualClock(), log), log, [{ name: "x", run }], 1);
    sweeper.start();
    await third;
    await sweeper.stop();
    expect([sweeps, ended]).toEqual([3, 3]);
  });
});

describe("a wall clock that jumps", () => {
  function watched() {
    const clock = new ManualClock();
    const log = new RecordedLog();
    return { clock, log, time: new WallTime(clock, log) };
  }

  test("forward by a day expires nothing until a second check confirms it", async () => {
    const stores = await openFileStores();
    const { id } = await addFile(stores, HOUR);
    const { sweeper, log } = sweeperOf(stores, stores.clock);
    stores.clock.jump(24 * HOUR);
    await sweeper.sweep();
    expect(existsSync(stores.files.pathOf(id))).toBe(true);
    expect(log.lines).toMatchObject([{ level: "warn", fields: { jumpSeconds: 24 * HOUR } }]);
    stores.clock.pass(30);
    await sweeper.sweep();
    expect(existsSync(stores.files.pathOf(id))).toBe(false);
  });

  test("between the boot and the first sweep expires nothing by either time", async () => {
    const stores = await openFileStores();
    const { id } = await addFile(stores, HOUR);
    // The machine boots a day ahead, and the network corrects the clock before the next check.
    stores.clock.jump(24 * HOUR);
    const { sweeper } = sweeperOf(stores, stores.clock);
    stores.clock.jump(-24 * HOUR);
    stores.clock.pass(30);
    await sweeper.sweep();
    expect(existsSync(stores.files.pathOf(id))).toBe(true);
    stores.clock.pass(30);
    await sweeper.sweep();
    expect(existsSync(stores.files.pathOf(id))).toBe(true);
    stores.clock.pass(HOUR);
    await sweeper.sweep();
    expect(existsSync(stores.files.pathOf(id))).toBe(false);
  });

  test("is settled once a second check has confirmed it", () => {
    const { clock, time } = watched();
    expect(time.settled).toBe(false);
    clock.jump(HOUR);
    time.check();
    expect(time.settled).toBe(false);
    time.check();
    expect(time.settled).toBe(true);
    clock.jump(HOUR);
    time.check();
    expect(time.settled).toBe(true);
  });

  test("forward and back changes nothing", () => {
    const { clock, log, time } = watched();
    clock.jump(24 * HOUR);
    time.check();
    clock.jump(-24 * HOUR);
    clock.pass(30);
    time.check();
    expect(time.epochMs()).toBe(clock.wallMs);
    clock.pass(30);
    time.check();
    expect(log.lines.map(({ level }) => level)).toEqual(["warn", "info"]);
  });

  test("to another time at every check is never accepted", () => {
    const { clock, time } = watched();
    const { wallMs } = clock;
    for (let i = 1; i <= 5; i++) {
      clock.pass(30);
      clock.jump(i * HOUR);
      time.check();
    }
    expect(time.epochMs()).toBe(wallMs + 150_000);
  });

  test("backward is accepted at the second check, and by seconds at once", () => {
    const { clock, time } = watched();
    clock.jump(-10 * HOUR);
    time.check();
    expect(time.epochMs()).toBe(clock.wallMs + 10 * HOUR * 1000);
    time.check();
    expect(time.epochMs()).toBe(clock.wallMs);
    clock.jump(59);
    time.check();
    expect(time.epochMs()).toBe(clock.wallMs);
    clock.pass(5);
    expect(time.epochMs()).toBe(clock.wallMs);
  });
});
