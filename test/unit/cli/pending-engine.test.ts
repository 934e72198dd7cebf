import { expect, it } from "vitest";
import type { Engine } from "../../../engine/engine.ts";
import type { ApiError } from "../../../openapi/api-error.ts";
import { PendingEngine } from "../../../server/pending-engine.ts";
import { FACTS } from "./facts.ts";

function started(): Engine & { closed: boolean } {
  return {
    model: "small",
    state: { name: "ready" },
    facts: FACTS,
    pending: 3,
    backlog: null,
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

it("is loading with the download's progress and refuses requests with 503 and Retry-After", async () => {
  const { handle, fetch } = download();
  const engine = new PendingEngine("small", { fetch, start: started });
  handle.progress(0.25);
  expect(engine.state).toEqual({ name: "loading", progress: 0.25 });
  const error = await failure(engine);
  expect([error.status, error.code, error.retryAfter]).toEqual([503, "model_loading", 5]);
});

it("is the started engine once the file is there", async () => {
  const { handle, fetch } = download();
  const real = started();
  const paths: string[] = [];
  const engine = new PendingEngine("small", {
    fetch,
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

it("has failed, with the reason, when the download has", async () => {
  const { handle, fetch } = download();
  const engine = new PendingEngine("small", { fetch, start: started });
  handle.fail(new Error("no such repository"));
  await expect(engine.ready()).rejects.toThrow("no such repository");
  expect(engine.state).toEqual({ name: "failed", reason: "no such repository" });
});

it("aborts the download when it is closed, and stays closed", async () => {
  const { fetch } = download();
  const engine = new PendingEngine("small", { fetch, start: started });
  const ready = expect(engine.ready()).rejects.toThrow();
  await engine.close();
  await ready;
  expect(engine.state).toEqual({ name: "closed" });
});
