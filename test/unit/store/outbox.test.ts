import { expect, test } from "vitest";
import { memoryTables } from "./memory-tables.ts";
import { newEvent } from "./rows.ts";

test("due rows are limited per endpoint, so that one that is down does not hide others", () => {
  const { outbox } = memoryTables();
  const down = Array.from({ length: 50 }, (_, i) =>
    newEvent(`evt_${i}`, { endpointUrl: "https://down/", nextAtMs: i }),
  );
  outbox.writes.insert({ events: [...down, newEvent("evt_x", { endpointUrl: "https://up/", nextAtMs: 100 })] });
  const due = outbox.reads.due({ nowMs: 100, limit: 2 });
  expect(due.map(({ id }) => id)).toEqual(["evt_0", "evt_1", "evt_x"]);
  expect(outbox.reads.nextAtMs()).toBe(0);
  const disabled = () => outbox.writes.disableEndpoint({ endpointUrl: "https://down/", error: "gone", limit: 30 });
  expect([disabled(), disabled(), disabled()]).toEqual([30, 20, 0]);
  expect(outbox.reads.nextAtMs()).toBe(100);
});

test("endExcessiveWaits makes due only rows beyond the longest backoff of their attempt", () => {
  const { outbox } = memoryTables();
  const url = "https://one/";
  outbox.writes.insert({
    events: [
      newEvent("evt_new", { endpointUrl: url, nextAtMs: 5000 }),
      newEvent("evt_once", { endpointUrl: url, nextAtMs: 0 }),
      newEvent("evt_often", { endpointUrl: url, nextAtMs: 0 }),
    ],
  });
  const retry = (id: string, nextAtMs: number) => outbox.writes.retry({ id, endpointUrl: url, nextAtMs, error: "503" });
  retry("evt_once", 1100);
  for (let i = 0; i < 9; i++) retry("evt_often", 1900);
  expect(outbox.writes.endExcessiveWaits({ nowMs: 1000, longestMs: [0, 100, 900] })).toBe(1);
  expect(outbox.reads.due({ nowMs: 1000, limit: 9 }).map(({ id }) => id)).toEqual(["evt_new"]);
  expect(outbox.writes.endExcessiveWaits({ nowMs: 900, longestMs: [0, 100, 900] })).toBe(3);
});
