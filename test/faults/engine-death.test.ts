import { describe, expect, it } from "vitest";
import { FAST_RESTART, freshFile, HANG_MS, Rig, stopWatchdogs, TICK_MS } from "./engine-fixture.ts";

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe("kill -9 of the engine under load", () => {
  it("ends open streams with an error, and retries requests without output", async () => {
    const rig = new Rig("");
    await rig.engine.ready();
    const streams = Array.from({ length: 8 }, () => rig.run("drip"));
    await Promise.all(streams.map((stream) => stream.receives("output")));
    const unseen = rig.run("hold");
    await unseen.receives("accepted");
    const before = rig.pid;
    process.kill(before, "SIGKILL");

    for (const stream of streams) {
      const error = await stream.failure();
      expect(error).toMatchObject({ status: 503, type: "server_error", code: "engine_died" });
      expect(error.message).toContain("may be retried");
      expect(error.retryAfter).toBeGreaterThanOrEqual(1);
      expect(stream.received.filter((what) => what === "failed")).toHaveLength(1);
    }
    // The observer reports no state of a dead process.
    expect(rig.processes).toEqual([]);
    const late = await rig.run("count:1").failure();
    expect(late).toMatchObject({ status: 503, code: "engine_restarting" });
    expect(late.retryAfter).toBeGreaterThanOrEqual(1);
    expect(rig.engine.pending).toBe(1);

    await rig.engine.ready();
    expect(rig.pid).not.toBe(before);
    expect(rig.restarts).toBe(1);
    expect(rig.processes).toEqual([rig.pid]);
    const again = rig.run("count:3");
    expect(await again.ended).toBe("finished");
    expect(again.text).toBe("1 2 3 ");
    unseen.ticket.cancel();
    expect(rig.engine.pending).toBe(0);
  });

  it("runs a request without output again, with the same id and from the start", async () => {
    const rig = new Rig("");
    await rig.engine.ready();
    const run = rig.run(`crash-once:${freshFile()}`, { n: 2 });
    expect(await run.ended).toBe("finished");
    expect(run.received).toEqual(["accepted", "mayRestart", "accepted", "started 0", "started 1", "output", "output"]);
    expect(rig.lines.filter((line) => line === "submit 1 crash-once")).toHaveLength(2);
    expect(rig.engine.pending).toBe(0);
  });

  it("retries once: a request that kills the engine twice fails, its neighbour completes", async () => {
    const rig = new Rig("");
    await rig.engine.ready();
    const poison = rig.run("crash");
    expect(await poison.failure()).toMatchObject({ status: 503, code: "engine_died" });
    expect(poison.received).toEqual(["accepted", "mayRestart", "accepted", "failed"]);
    expect(rig.restarts).toBeGreaterThanOrEqual(1);
    await rig.engine.ready();
    expect(await rig.run("count:2").ended).toBe("finished");
  });

  it("does not retry a request with output", async () => {
    const rig = new Rig("");
    await rig.engine.ready();
    const run = rig.run("count-and-crash:5");
    expect(await run.failure()).toMatchObject({ code: "engine_died" });
    expect(run.text).toBe("1 ");
  });

  it("drops a request that is cancelled during the restart", async () => {
    const rig = new Rig("");
    await rig.engine.ready();
    const run = rig.run("hold");
    await run.receives("accepted");
    process.kill(rig.pid, "SIGKILL");
    await run.receives("mayRestart");
    run.ticket.cancel();
    expect(rig.engine.pending).toBe(0);
    await rig.engine.ready();
    expect(await rig.run("count:1").ended).toBe("finished");
    expect(rig.lines.filter((line) => line.startsWith("submit 1 "))).toHaveLength(1);
    expect(run.received).toEqual(["accepted", "mayRestart"]);
  });
});

describe("an engine that hangs", () => {
  it("is killed and replaced when a pending answer does not come", async () => {
    const pass = stopWatchdogs();
    const rig = new Rig("", { hangTimeoutMs: HANG_MS });
    await rig.engine.ready();
    const before = rig.pid;
    const run = rig.run("silent");
    await rig.logged("submit 1 silent");
    pass(HANG_MS + TICK_MS);
    await run.receives("mayRestart");
    const state = rig.engine.state;
    expect(state).toMatchObject({ name: "restarting", reason: expect.stringContaining("sent no message") });
    expect(alive(before)).toBe(false);
    await rig.engine.ready();
    pass(HANG_MS + TICK_MS);
    expect(await run.failure()).toMatchObject({ code: "engine_died" });
  });

  it("is killed also where every client disconnects before the timeout", async () => {
    const pass = stopWatchdogs();
    // No restart: the state stays as at the death.
    const rig = new Rig("", { hangTimeoutMs: HANG_MS, restart: { ...FAST_RESTART, firstMs: 600_000, capMs: 600_000 } });
    await rig.engine.ready();
    const before = rig.pid;
    while (rig.engine.state.name === "ready") {
      const run = rig.run("hang");
      await Promise.race([run.receives("accepted"), run.receives("mayRestart"), run.ended]);
      run.ticket.cancel();
      expect(rig.engine.pending).toBe(0);
      pass(TICK_MS);
    }
    expect(rig.engine.state).toMatchObject({ reason: expect.stringContaining("sent no message") });
    expect(alive(before)).toBe(false);
  });

  it("is not killed after the cancellation of a request, while its steps run", async () => {
    const pass = stopWatchdogs();
    const rig = new Rig("", { hangTimeoutMs: HANG_MS });
    await rig.engine.ready();
    const before = rig.pid;
    const left = rig.run("hold");
    await left.receives("accepted");
    left.ticket.cancel();
    // Its answers follow that to the cancellation.
    expect(await rig.run("count:1").ended).toBe("finished");
    pass(3 * HANG_MS);
    expect(await rig.run("count:1").ended).toBe("finished");
    expect(rig.pid).toBe(before);
    expect(rig.restarts).toBe(0);
  });

  it("is not killed while it is idle or answers", async () => {
    const pass = stopWatchdogs();
    const rig = new Rig("", { hangTimeoutMs: HANG_MS });
    await rig.engine.ready();
    const before = rig.pid;
    pass(3 * HANG_MS);
    const run = rig.run("drip");
    for (let limits = 0; limits < 3; limits++) {
      const received = rig.steps.length;
      await expect.poll(() => rig.steps.length).toBeGreaterThan(received);
      pass(HANG_MS);
    }
    run.ticket.cancel();
    expect(await rig.run("count:1").ended).toBe("finished");
    expect(rig.pid).toBe(before);
    expect(rig.restarts).toBe(0);
  });

  it("is killed when loading makes no progress", async () => {
    const pass = stopWatchdogs();
    const loadTimeoutMs = 3 * HANG_MS;
    const rig = new Rig("hang-loading", { hangTimeoutMs: HANG_MS, loadTimeoutMs });
    const failed = expect(rig.engine.ready()).rejects.toThrow(
      /died 2 times while it loaded[\s\S]*sent no message for \d+ seconds while it loaded the model/,
    );
    pass(loadTimeoutMs + TICK_MS);
    await expect.poll(() => rig.restarts).toBe(1);
    pass(loadTimeoutMs + TICK_MS);
    await failed;
  });
});

describe("a model that cannot be loaded", () => {
  it("fails at once when the engine reports it; the report goes to the log only", async () => {
    const rig = new Rig("unloadable:The file is truncated.");
    await expect(rig.engine.ready()).rejects.toThrow("The file is truncated.");
    expect(rig.restarts).toBe(0);
    const error = await rig.run("count:1").failure();
    expect(error).toMatchObject({ status: 503, code: "engine_failed", shouldRetry: undefined });
    expect(error.message).not.toContain("truncated");
    expect(error.message).toContain("The server's log says why");
    expect(error.message).toContain("tried again by itself");
    await expect(rig.engine.ready()).rejects.toThrow("The file is truncated.");
  });

  it("is tried again after a backoff, and serves when the cause is gone", async () => {
    const rig = new Rig(`unloadable-first:${freshFile()}`, { restart: { ...FAST_RESTART, firstReloadMs: 20 } });
    await expect(rig.engine.ready()).rejects.toThrow("No memory for the weights.");
    await expect.poll(() => rig.engine.state.name).toBe("ready");
    expect(await rig.run("count:1").ended).toBe("finished");
  });

  it("on demand, is unloaded after the backoff, and loaded by the next request", async () => {
    const restart = { ...FAST_RESTART, firstReloadMs: 20 };
    const rig = new Rig(`unloadable-first:${freshFile()}`, { restart, first: "unloaded" });
    const failed = expect(rig.engine.ready()).rejects.toThrow("No memory for the weights.");
    rig.engine.load();
    await failed;
    await expect.poll(() => rig.engine.state.name).toBe("unloaded");
    rig.engine.load();
    await rig.engine.ready();
    expect(await rig.run("count:1").ended).toBe("finished");
  });

  it("is tried again at once by load(), after the old process has ended", async () => {
    const rig = new Rig(`unloadable-first:${freshFile()}`);
    await expect(rig.engine.ready()).rejects.toThrow("No memory for the weights.");
    rig.engine.load();
    await expect.poll(() => rig.engine.state.name).toBe("ready");
  });

  it("gets a second attempt when the process dies, then fails with its last output", async () => {
    const rig = new Rig("die-loading");
    await expect(rig.engine.ready()).rejects.toThrow(/exit code 7[\s\S]*the last words of the engine/);
    expect(rig.restarts).toBe(1);
    const error = await rig.run("count:1").failure();
    expect(error.message).not.toMatch(/exit code|last words/);
  });

  it("serves when the second attempt succeeds", async () => {
    const rig = new Rig(`die-loading-once:${freshFile()}`);
    await rig.engine.ready();
    expect(await rig.run("count:1").ended).toBe("finished");
  });

  it("is tried up to the breaker if it was loaded before, then fails waiting requests", async () => {
    const rig = new Rig(`unloadable-later:${freshFile()}`);
    await rig.engine.ready();
    const run = rig.run("hold");
    await run.receives("accepted");
    process.kill(rig.pid, "SIGKILL");
    expect(await run.failure()).toMatchObject({ status: 503, code: "engine_failed" });
    expect(rig.engine.state).toMatchObject({
      name: "failed",
      reason: expect.stringMatching(/died 5 times in a row.*No memory for the weights/),
    });
    expect(rig.restarts).toBe(4);
    expect(rig.engine.pending).toBe(0);
  });
});

describe("a crash loop", () => {
  it("opens the breaker after five deaths without a finished request between them", async () => {
    const rig = new Rig("");
    let deaths = 0;
    while (deaths < 5) {
      await rig.engine.ready();
      const run = rig.run("drip");
      await run.receives("output");
      process.kill(rig.pid, "SIGKILL");
      await run.failure();
      deaths += 1;
    }
    expect(rig.engine.state).toMatchObject({
      name: "failed",
      reason: expect.stringContaining("died 5 times in a row"),
    });
    await expect(rig.engine.ready()).rejects.toThrow("SIGKILL");
    expect(await rig.run("count:1").failure()).toMatchObject({ shouldRetry: false });
    rig.engine.load();
    await rig.engine.ready();
    expect(await rig.run("count:1").ended).toBe("finished");
  });

  it("leaves the breaker closed while requests finish between the deaths", async () => {
    const rig = new Rig("");
    for (let deaths = 0; deaths < 6; deaths++) {
      await rig.engine.ready();
      expect(await rig.run("count:1").ended).toBe("finished");
      const run = rig.run("drip");
      await run.receives("output");
      process.kill(rig.pid, "SIGKILL");
      await run.failure();
    }
    await rig.engine.ready();
    expect(rig.restarts).toBe(6);
  });
});
