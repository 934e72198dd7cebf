import { expect, onTestFinished, test, vi } from "vitest";
import { HANG_MS, Rig, stopWatchdogs, TICK_MS } from "./engine-fixture.ts";

test("those who ask at once share one answer", async () => {
  // Of the time that an answer may take nothing passes.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const rig = new Rig("");
  await rig.engine.ready();
  expect(await Promise.all([rig.engine.inspect(), rig.engine.inspect()])).toEqual([{ asked: 1 }, { asked: 1 }]);
  expect(await rig.engine.inspect()).toEqual({ asked: 2 });
});

test("an engine that is not ready has nothing to tell", async () => {
  const rig = new Rig("hang-loading");
  expect(await rig.engine.inspect()).toBeNull();
});

test("an engine that dies before it answers is told as null at once", async () => {
  const rig = new Rig("");
  await rig.engine.ready();
  process.kill(rig.pid, "SIGSTOP");
  const asked = rig.engine.inspect();
  process.kill(rig.pid, "SIGKILL");
  expect(await asked).toBeNull();
});

test("answers are no sign of life: an engine whose step hangs is killed although it is asked", async () => {
  const pass = stopWatchdogs();
  const rig = new Rig("", { hangTimeoutMs: HANG_MS });
  await rig.engine.ready();
  const run = rig.run("silent");
  for (let ms = 0; ms <= HANG_MS; ms += TICK_MS) {
    await rig.engine.inspect();
    pass(TICK_MS);
  }
  await run.hears("mayRestart");
  expect(rig.engine.state).toMatchObject({ reason: expect.stringContaining("sent no message") });
});

test("a decode that hangs is found however many new requests are accepted beside it", async () => {
  const pass = stopWatchdogs();
  const rig = new Rig("", { hangTimeoutMs: HANG_MS });
  await rig.engine.ready();
  const run = rig.run("hold");
  await run.hears("accepted");
  for (let ms = 0; ms <= HANG_MS; ms += TICK_MS) {
    await rig.run("hold").hears("accepted");
    pass(TICK_MS);
  }
  await run.hears("mayRestart");
  expect(rig.engine.state).toMatchObject({ reason: expect.stringContaining("sent no message") });
});
