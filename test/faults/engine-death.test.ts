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
  it("ends open streams with an error, retries what was not seen yet, and serves again", async () => {
    const rig = new Rig("");
    await rig.engine.ready();
    const streams = Array.from({ length: 8 }, () => rig.run("drip"));
    await Promise.all(streams.map((stream) => stream.hears("output")));
    const unseen = rig.run("hold");
    await unseen.hears("accepted");
    const before = rig.pid;
    process.kill(before, "SIGKILL");

    for (const stream of streams) {
      const error = await stream.failure();
      expect(error).toMatchObject({ status: 503, type: "server_error", code: "engine_died" });
      expect(error.message).toContain("may be retried");
      expect(error.retryAfter).toBeGreaterThanOrEqual(1);
      expect(stream.heard.filter((what) => what === "failed")).toHaveLength(1);
    }
    // The observer shows nothing of a process that is gone.
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

  it("runs a request that nobody saw once more, with the same id and from the start", async () => {
    const rig = new Rig("");
    await rig.engine.ready();
    const run = rig.run(`crash-once:${freshFile()}`, { n: 2 });
    expect(await run.ended).toBe("finished");
    expect(run.heard).toEqual(["accepted", "mayRestart", "accepted", "started 0", "started 1", "output", "output"]);
    expect(rig.lines.filter((line) => line === "submit 1 crash-once")).toHaveLength(2);
    expect(rig.engine.pending).toBe(0);
  });

  it("retries once only: a request that kills the engine twice fails, and its neighbour survives", async () => {
    const rig = new Rig("");
    await rig.engine.ready();
    const poison = rig.run("crash");
    expect(await poison.failure()).toMatchObject({ status: 503, code: "engine_died" });
    expect(poison.heard).toEqual(["accepted", "mayRestart", "accepted", "failed"]);
    expect(rig.restarts).toBeGreaterThanOrEqual(1);
    await rig.engine.ready();
    expect(await rig.run("count:2").ended).toBe("finished");
  });

  it("does not retry what was seen", async () => {
    const rig = new Rig("");
    await rig.engine.ready();
    const run = rig.run("count-and-crash:5");
    expect(await run.failure()).toMatchObject({ code: "engine_died" });
    expect(run.text).toBe("1 ");
  });

  it("forgets a request that is cancelled while it waits for the restart", async () => {
    const rig = new Rig("");
    await rig.engine.ready();
    const run = rig.run("hold");
    await run.hears("accepted");
    process.kill(rig.pid, "SIGKILL");
    await run.hears("mayRestart");
    run.ticket.cancel();
    expect(rig.engine.pending).toBe(0);
    await rig.engine.ready();
    expect(await rig.run("count:1").ended).toBe("finished");
    expect(rig.lines.filter((line) => line.startsWith("submit 1 "))).toHaveLength(1);
    expect(run.heard).toEqual(["accepted", "mayRestart"]);
  });
});

describe("an engine that hangs", () => {
  it("is killed and replaced when it owes an answer and says nothing", async () => {
    const pass = stopWatchdogs();
    const rig = new Rig("", { hangTimeoutMs: HANG_MS });
    await rig.engine.ready();
    const before = rig.pid;
    const run = rig.run("silent");
    await rig.logged("submit 1 silent");
    pass(HANG_MS + TICK_MS);
    await run.hears("mayRestart");
    const state = rig.engine.state;
    expect(state).toMatchObject({ name: "restarting", reason: expect.stringContaining("sent no message") });
    expect(alive(before)).toBe(false);
    await rig.engine.ready();
    pass(HANG_MS + TICK_MS);
    expect(await run.failure()).toMatchObject({ code: "engine_died" });
  });

  it("is killed where every client leaves before the timeout, and none is there at its end", async () => {
    const pass = stopWatchdogs();
    // It is not started again: the state stays as the death left it.
    const rig = new Rig("", { hangTimeoutMs: HANG_MS, restart: { ...FAST_RESTART, firstMs: 600_000, capMs: 600_000 } });
    await rig.engine.ready();
    const before = rig.pid;
    while (rig.engine.state.name === "ready") {
      const run = rig.run("hang");
      await Promise.race([run.hears("accepted"), run.hears("mayRestart"), run.ended]);
      run.ticket.cancel();
      expect(rig.engine.pending).toBe(0);
      pass(TICK_MS);
    }
    expect(rig.engine.state).toMatchObject({ reason: expect.stringContaining("sent no message") });
    expect(alive(before)).toBe(false);
  });

  it("is left alone after a request was cancelled that no step hangs in", async () => {
    const pass = stopWatchdogs();
    const rig = new Rig("", { hangTimeoutMs: HANG_MS });
    await rig.engine.ready();
    const before = rig.pid;
    const left = rig.run("hold");
    await left.hears("accepted");
    left.ticket.cancel();
    // Its answers come after that to the cancellation.
    expect(await rig.run("count:1").ended).toBe("finished");
    pass(3 * HANG_MS);
    expect(await rig.run("count:1").ended).toBe("finished");
    expect(rig.pid).toBe(before);
    expect(rig.restarts).toBe(0);
  });

  it("is left alone while it owes nothing or answers", async () => {
    const pass = stopWatchdogs();
    const rig = new Rig("", { hangTimeoutMs: HANG_MS });
    await rig.engine.ready();
    const before = rig.pid;
    pass(3 * HANG_MS);
    const run = rig.run("drip");
    for (let limits = 0; limits < 3; limits++) {
      const heard = rig.steps.length;
      await expect.poll(() => rig.steps.length).toBeGreaterThan(heard);
      pass(HANG_MS);
    }
    run.ticket.cancel();
    expect(await rig.run("count:1").ended).toBe("finished");
    expect(rig.pid).toBe(before);
    expect(rig.restarts).toBe(0);
  });

  it("is killed when it makes no progress while it loads", async () => {
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

describe("a model that can't be loaded", () => {
  it("fails at once when it says so; its words go to the log, not to clients", async () => {
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

  it("is tried again after a backoff, and serves when the cause has passed", async () => {
    const rig = new Rig(`unloadable-first:${freshFile()}`, { restart: { ...FAST_RESTART, firstReloadMs: 20 } });
    await expect(rig.engine.ready()).rejects.toThrow("No memory for the weights.");
    await expect.poll(() => rig.engine.state.name).toBe("ready");
    expect(await rig.run("count:1").ended).toBe("finished");
  });

  it("where requests have it loaded, is unloaded after the backoff, and the next one has it loaded again", async () => {
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

  it("is tried again at once by load(), when the old process is gone", async () => {
    const rig = new Rig(`unloadable-first:${freshFile()}`);
    await expect(rig.engine.ready()).rejects.toThrow("No memory for the weights.");
    rig.engine.load();
    await expect.poll(() => rig.engine.state.name).toBe("ready");
  });

  it("gets a second attempt when the process dies while it loads, then fails with its last words", async () => {
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

  it("is tried again up to the breaker where it was loaded before, and then fails who waits", async () => {
    const rig = new Rig(`unloadable-later:${freshFile()}`);
    await rig.engine.ready();
    const run = rig.run("hold");
    await run.hears("accepted");
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
  it("opens the breaker after five deaths with no request finished between them", async () => {
    const rig = new Rig("");
    let deaths = 0;
    while (deaths < 5) {
      await rig.engine.ready();
      const run = rig.run("drip");
      await run.hears("output");
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

  it("goes on as long as requests finish between the deaths", async () => {
    const rig = new Rig("");
    for (let deaths = 0; deaths < 6; deaths++) {
      await rig.engine.ready();
      expect(await rig.run("count:1").ended).toBe("finished");
      const run = rig.run("drip");
      await run.hears("output");
      process.kill(rig.pid, "SIGKILL");
      await run.failure();
    }
    await rig.engine.ready();
    expect(rig.restarts).toBe(6);
  });
});
