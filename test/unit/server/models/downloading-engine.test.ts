import { expect, it, onTestFinished, vi } from "vitest";
import type { Engine } from "../../../../engine/engine.ts";
import type { ApiError } from "../../../../openapi/api-error.ts";
import { DownloadingEngine } from "../../../../server/models/downloading-engine.ts";
import { FACTS } from "../cli/facts.ts";

function started(): Engine & { closed: boolean } {
  return {
    model: "small",
    state: { name: "ready" },
    facts: FACTS,
    pending: 3,
    objectives: null,
    predictedWaitMs: () => 0,
    retryAfterSeconds: 1,
    closed: false,
    submit: () => ({ cancel: () => {} }),
    embed: () => ({ cancel: () => {} }),
    ready: async () => FACTS,
    load: () => {},
    unload: async () => {},
    tokenize: async () => ({ tokens: new Int32Array(), pieces: null }),
    inspect: async () => null,
    async close() {
      this.closed = true;
    },
  };
}

/** A download that the test ends. */
function download() {
  const handle = { progress: (_: number) => {}, arrive: (_: string) => {}, fail: (_: Error) => {} };
  const fetch = (progress: (share: number) => void, signal: AbortSignal) =>
    new Promise<string>((resolve, reject) => {
      handle.progress = progress;
      handle.arrive = resolve;
      handle.fail = reject;
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  return { handle, fetch };
}

const failure = (engine: Engine) =>
  new Promise<ApiError>((resolve) => {
    const ignore = () => {};
    const listener = { accepted: ignore, started: ignore, output: ignore, failed: resolve, mayRestart: () => true };
    engine.submit({} as Parameters<Engine["submit"]>[0], listener);
  });

it("is loading with the download's progress, and refuses requests with 503", async () => {
  const { handle, fetch } = download();
  const engine = new DownloadingEngine("small", { fetch, start: started, isFinal: () => false });
  handle.progress(0.25);
  expect(engine.state).toEqual({ name: "loading", progress: 0.25 });
  const error = await failure(engine);
  expect([error.status, error.code, error.retryAfter]).toEqual([503, "model_loading", 1]);
});

it("is the started engine once the file is there", async () => {
  const { handle, fetch } = download();
  const real = started();
  const paths: string[] = [];
  const engine = new DownloadingEngine("small", {
    fetch,
    isFinal: () => false,
    start: (path) => {
      paths.push(path);
      return real;
    },
  });
  handle.arrive("/m.gguf");
  expect(await engine.ready()).toBe(FACTS);
  expect(paths).toEqual(["/m.gguf"]);
  expect([engine.state, engine.facts, engine.pending]).toEqual([real.state, FACTS, 3]);
  await engine.close();
  expect(real.closed).toBe(true);
});

it("fails with the download's reason, and retries after a doubling backoff", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const reasons = ["no route", "still no route"];
  const fetch = async () => {
    const reason = reasons.shift();
    if (reason !== undefined) throw new Error(reason);
    return "/m.gguf";
  };
  const engine = new DownloadingEngine("small", { fetch, start: started, isFinal: () => false });
  await expect(engine.ready()).rejects.toThrow("no route");
  expect(engine.state).toEqual({ name: "failed", reason: "no route", retryInMs: 5000 });
  expect(await failure(engine)).toMatchObject({ code: "engine_failed", retryAfter: 5, shouldRetry: undefined });
  await vi.advanceTimersByTimeAsync(5000);
  expect(engine.state).toEqual({ name: "failed", reason: "still no route", retryInMs: 10_000 });
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await engine.ready()).toBe(FACTS);
});

it("retries a final failure only on load()", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let tries = 0;
  const fetch = async () => {
    if (tries++ === 0) throw new Error("no GGUF");
    return "/m.gguf";
  };
  const engine = new DownloadingEngine("small", { fetch, start: started, isFinal: () => true });
  await engine.fetched;
  expect(engine.state).toEqual({ name: "failed", reason: "no GGUF" });
  expect(await failure(engine)).toMatchObject({ retryAfter: 60, shouldRetry: false });
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(tries).toBe(1);
  engine.load();
  expect(await engine.ready()).toBe(FACTS);
});

it("derives Retry-After from the download's own progress", async () => {
  let now = 1_000_000;
  const { handle, fetch } = download();
  const engine = new DownloadingEngine("small", { fetch, start: started, isFinal: () => false, now: () => now });
  now += 10_000;
  handle.progress(0.5);
  expect(engine.retryAfterSeconds).toBe(10);
});

it("removes waiters that give up", async () => {
  const { handle, fetch } = download();
  const engine = new DownloadingEngine("small", { fetch, start: started, isFinal: () => false });
  const gone = new AbortController();
  const ready = engine.ready(gone.signal);
  gone.abort(new Error("gone"));
  await expect(ready).rejects.toThrow("gone");
  handle.arrive("/m.gguf");
  expect(await engine.ready()).toBe(FACTS);
});

it("aborts the download when it is closed, and stays closed", async () => {
  const { fetch } = download();
  const engine = new DownloadingEngine("small", { fetch, start: started, isFinal: () => false });
  const ready = expect(engine.ready()).rejects.toThrow();
  await engine.close();
  await ready;
  expect(engine.state).toEqual({ name: "closed" });
});
