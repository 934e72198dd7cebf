import { expect, onTestFinished, test, vi } from "vitest";
import { HANG_MS, Rig, stopWatchdogs, TICK_MS } from "./engine-fixture.ts";

test("concurrent status queries share one answer", async () => {
  // The timeout of an answer does not advance.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const rig = new Rig("");
  await rig.engine.ready();
  expect(await Promise.all([rig.engine.inspect(), rig.engine.inspect()])).toEqual([{ asked: 1 }, { asked: 1 }]);
  expect(await rig.engine.inspect()).toEqual({ asked: 2 });
});

test("an engine that is not ready has a null status", async () => {
  const rig = new Rig("hang-loading");
  expect(await rig.engine.inspect()).toBeNull();
});

test("an engine that dies before its answer has a null status at once", async () => {
  const rig = new Rig("");
  await rig.engine.ready();
  process.kill(rig.pid, "SIGSTOP");
  const asked = rig.engine.inspect();
  process.kill(rig.pid, "SIGKILL");
  expect(await asked).toBeNull();
});

test("an engine whose step hangs is killed although it answers status queries", async () => {
  const pass = stopWatchdogs();
  const rig = new Rig("", { hangTimeoutMs: HANG_MS });
  await rig.engine.ready();
  const run = rig.run("silent");
  for (let ms = 0; ms <= HANG_MS; ms += TICK_MS) {
    await rig.engine.inspect();
    pass(TICK_MS);
  }
  await run.receives("mayRestart");
  expect(rig.engine.state).toMatchObject({ reason: expect.stringContaining("sent no message") });
});

test("a hanging decode is found beside newly accepted requests", async () => {
  const pass = stopWatchdogs();
  const rig = new Rig("", { hangTimeoutMs: HANG_MS });
  await rig.engine.ready();
  const run = rig.run("hold");
  await run.receives("accepted");
  for (let ms = 0; ms <= HANG_MS; ms += TICK_MS) {
    await rig.run("hold").receives("accepted");
    pass(TICK_MS);
  }
  await run.receives("mayRestart");
  expect(rig.engine.state).toMatchObject({ reason: expect.stringContaining("sent no message") });
});
