import { expect, test } from "vitest";
import type { PieceStats } from "../../../../engine/protocol/embedding.ts";
import { ModelLoads } from "../../../../server/admission/model-load.ts";
import { EngineObserverFanOut } from "../../../../server/metrics/engine-observer-fan-out.ts";
import { OnlineUtilization } from "../../../../server/metrics/online-utilization.ts";

const PIECE: PieceStats = { ms: 30, tokens: 10, inputs: 1, online: true, shares: [] };

test("forwards each event in order to observers with a method for it", () => {
  const events: string[] = [];
  const observers = new EngineObserverFanOut([
    {
      started: (model, pid) => void events.push(`first: ${model} runs as ${pid}`),
      ended: () => void events.push("gone"),
    },
    { started: () => void events.push("second"), restarted: () => void events.push("again") },
  ]);
  observers.started("demo", 7);
  observers.ended("demo");
  observers.restarted("demo");
  observers.piece("demo", PIECE);
  expect(events).toEqual(["first: demo runs as 7", "second", "gone", "again"]);
});

test("an embedding decode counts for embeddings and for the engine's busy time", () => {
  const loads = new ModelLoads(() => 0);
  const online = new OnlineUtilization(() => 0);
  new EngineObserverFanOut([online, loads]).piece("demo", PIECE);
  const { embedding } = loads.of("demo");
  embedding.add("default", "a", 100);
  expect(embedding.waitMs("default", "a")).toBe(300);
  expect(online.of("demo")).toBe(30 / 30_000);
});
