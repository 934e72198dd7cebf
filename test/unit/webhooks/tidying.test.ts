import { expect, test } from "vitest";
import { Rig } from "../../faults/webhook-rig.ts";
import { newEvent } from "../store/rows.ts";
import { testStore } from "../store/test-store.ts";

const DAY = 86_400_000;

test("one round removes all rows that were settled over 30 days ago", async () => {
  const store = await testStore();
  const url = "http://127.0.0.1:1/";
  const now = Date.now();
  const createdAt = Math.floor((now - 31 * DAY) / 1000);
  const events = Array.from({ length: 2500 }, (_, i) => newEvent(`evt_${i}`, { endpointUrl: url, createdAt }));
  await store.outbox.insert({ events });
  while ((await store.outbox.disableEndpoint({ endpointUrl: url, error: "gone", limit: 1000 })) > 0);
  const removed: number[] = [];
  const removeOld: typeof store.outbox.removeOld = async (args) => {
    const rows = await store.outbox.removeOld(args);
    removed.push(rows);
    return rows;
  };
  const rig = await Rig.start([url], { store: { ...store.outbox, removeOld } });
  rig.pass(0);
  await expect.poll(() => removed).toEqual([1000, 1000, 500]);
});
