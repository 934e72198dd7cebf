import { expect, test } from "vitest";
import { memoryTables } from "./memory-tables.ts";
import { newEvent } from "./rows.ts";

test("of an endpoint that is down no more rows are read than asked for, and others have theirs", () => {
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
