import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { EmbeddingListener } from "../../engine/engine.ts";
import type { ApiError } from "../../openapi/api-error.ts";
import { Rig } from "./engine-fixture.ts";

/** Events of the listener of one request for vectors. */
class Received implements EmbeddingListener {
  readonly events: string[] = [];
  readonly vectors: number[][] = [];
  readonly ended: Promise<ApiError | "finished">;
  readonly #count: number;
  readonly #restarts: boolean;
  #end: (how: ApiError | "finished") => void = () => {};

  constructor(count: number, restarts: boolean) {
    this.#count = count;
    this.#restarts = restarts;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  accepted(): void {
    this.events.push("accepted");
  }

  started(): void {
    this.events.push("started");
  }

  vector(index: number, vector: Float32Array): void {
    this.vectors[index] = [...vector];
    if (this.vectors.filter(Boolean).length === this.#count) this.#end("finished");
  }

  failed(error: ApiError): void {
    this.#end(error);
  }

  mayRestart(): boolean {
    this.events.push("mayRestart");
    return this.#restarts;
  }
}

function embed(rig: Rig, texts: string[], restarts = true): Received {
  const received = new Received(texts.length, restarts);
  const inputs = texts.map((text) => ({ kind: "text" as const, text }));
  rig.engine.embed({ tier: "default", owner: "local", endpoint: "/v1/embeddings", inputs }, received);
  return received;
}

function onceFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "nightshift-embed-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "once");
}

test("vectors have the order of the inputs", async () => {
  const rig = new Rig("");
  await rig.engine.ready();
  const received = embed(rig, ["a", "b", "c"]);
  expect(await received.ended).toBe("finished");
  expect(received.events).toEqual(["accepted", "started"]);
  expect(received.vectors).toEqual([0, 1, 2].map((index) => [index, 1]));
  expect(rig.engine.pending).toBe(0);
});

test("after a death of the engine the request runs once more, from its start", async () => {
  const rig = new Rig("");
  await rig.engine.ready();
  const received = embed(rig, [`crash-once:${onceFile()}`, "b"]);
  expect(await received.ended).toBe("finished");
  expect(received.events).toEqual(["accepted", "mayRestart", "accepted", "started"]);
});

test("a request that may not restart fails with the engine's death", async () => {
  const rig = new Rig("");
  await rig.engine.ready();
  const received = embed(rig, [`crash-once:${onceFile()}`], false);
  expect(await received.ended).toMatchObject({ status: 503, code: "engine_died" });
});
