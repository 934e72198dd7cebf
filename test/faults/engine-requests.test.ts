import { describe, expect, it } from "vitest";
import { RESTART_POLICY } from "../../engine/restart-policy.ts";
import { Rig } from "./engine-fixture.ts";

describe("a request", () => {
  it("gets accepted, started and outputs per sequence, and its steps are observed", async () => {
    const rig = new Rig("");
    expect((await rig.engine.ready()).model).toBe("fake");
    const run = rig.run("count:2", { n: 3 });
    expect(rig.engine.pending).toBe(1);
    expect(await run.ended).toBe("finished");
    expect(run.received.slice(0, 5)).toEqual(["accepted", "started 0", "started 1", "started 2", "output"]);
    expect(run.text).toBe("1 1 1 2 2 2 ");
    expect(rig.engine.pending).toBe(0);
    expect(rig.steps.length).toBeGreaterThanOrEqual(1);
  });

  it("that the engine refuses fails with the engine's error", async () => {
    const rig = new Rig("");
    await rig.engine.ready();
    const error = await rig.run("refuse").failure();
    expect(error).toMatchObject({ status: 400, type: "invalid_request_error", code: "invalid_value", param: "prompt" });
    expect(rig.engine.pending).toBe(0);
  });

  it("that is cancelled gets no further event, and one cancellation is sent", async () => {
    const rig = new Rig("");
    await rig.engine.ready();
    const run = rig.run("drip");
    await run.receives("output");
    run.ticket.cancel();
    run.ticket.cancel();
    const received = run.received.length;
    await rig.logged("cancel 1");
    expect(await rig.run("count:3").ended).toBe("finished");
    expect(run.received).toHaveLength(received);
    expect(rig.lines.filter((line) => line === "cancel 1")).toHaveLength(1);
  });

  it("that has ended can be cancelled without an effect", async () => {
    const rig = new Rig("");
    await rig.engine.ready();
    const run = rig.run("count:1");
    await run.ended;
    run.ticket.cancel();
    await rig.run("count:1").ended;
    expect(rig.lines).not.toContain("cancel 1");
  });

  it("is refused with Retry-After while the model loads, after submit has returned", async () => {
    const rig = new Rig("");
    const run = rig.run("count:1");
    expect(run.received).toEqual([]);
    const error = await run.failure();
    expect(error).toMatchObject({ status: 503, code: "model_loading" });
    expect(error.retryAfter).toBeGreaterThanOrEqual(1);
    const cancelled = rig.run("count:1");
    cancelled.ticket.cancel();
    await rig.engine.ready();
    expect(cancelled.received).toEqual([]);
  });

  it("whose listener throws is cancelled, and its neighbours continue", async () => {
    const rig = new Rig("");
    await rig.engine.ready();
    const bad = rig.run("drip");
    bad.output = () => {
      throw new Error("a fault of the listener");
    };
    const good = rig.run("count:20");
    expect(await good.ended).toBe("finished");
    await rig.logged("cancel 1");
    expect(rig.engine.pending).toBe(0);
  });
});

describe("close", () => {
  it("fails pending requests, ends the process, and refuses later requests", async () => {
    const rig = new Rig("");
    await rig.engine.ready();
    const pid = rig.pid;
    const run = rig.run("drip");
    await run.receives("output");
    const closed = rig.engine.close();
    expect(await run.failure()).toMatchObject({ status: 503, code: "server_shutting_down" });
    await closed;
    expect(() => process.kill(pid, 0)).toThrow();
    expect(await rig.run("count:1").failure()).toMatchObject({ status: 503, code: "server_shutting_down" });
    await expect(rig.engine.ready()).rejects.toThrow("closed");
    expect(rig.engine.close()).toBe(closed);
  });

  it("kills a process that does not end by itself", async () => {
    const rig = new Rig("stubborn", { closeGraceMs: 50 });
    await rig.engine.ready();
    const pid = rig.pid;
    await rig.engine.close();
    expect(() => process.kill(pid, 0)).toThrow();
  });

  it("stops a restart in progress", async () => {
    const rig = new Rig("", { restart: { ...RESTART_POLICY, firstMs: 60_000, capMs: 60_000 } });
    await rig.engine.ready();
    const run = rig.run("hold");
    await run.receives("accepted");
    process.kill(rig.pid, "SIGKILL");
    await run.receives("mayRestart");
    const ready = rig.engine.ready();
    await rig.engine.close();
    await expect(ready).rejects.toThrow("closed");
    expect(await run.failure()).toMatchObject({ code: "server_shutting_down" });
  });
});
