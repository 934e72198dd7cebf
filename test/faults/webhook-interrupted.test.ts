import { EventEmitter, once } from "node:events";
import { describe, expect, it } from "vitest";
import { StoreError } from "../../store/types/store-error.ts";
import { testStore } from "../unit/store/test-store.ts";
import { Rig, receiver } from "./webhook-rig.ts";

describe("a shutdown", () => {
  it("lets a delivery end within the grace", async () => {
    const events = new EventEmitter();
    const { url } = await receiver((_, response) => {
      events.once("go", () => response.writeHead(200).end());
      events.emit("received");
    });
    const rig = await Rig.start([url]);
    const begun = once(events, "received");
    await rig.queue();
    await begun;
    const closed = rig.delivery.close(10_000);
    events.emit("go");
    await closed;
    expect(await rig.waiting()).toEqual([]);
  });

  it("cuts off a longer delivery, which the next start repeats with the same id", async () => {
    const events = new EventEmitter();
    let answers = false;
    const { url, received } = await receiver((_, response) => {
      if (answers) response.writeHead(200).end();
      events.emit("received");
    });
    const store = await testStore();
    const rig = await Rig.start([url], {}, store);
    const begun = once(events, "received");
    await rig.queue();
    await begun;
    await rig.delivery.close(0);
    expect((await rig.waiting())[0]).toMatchObject({ attempts: 0, lastError: null });
    answers = true;
    const next = await Rig.start([url], {}, store);
    next.delivery.wake();
    await next.receives(1);
    expect(received.map(({ headers }) => headers["webhook-id"])).toEqual(["evt_1", "evt_1"]);
  });
});

describe("a store that is not writable", () => {
  it("does not make a delivered event repeat", async () => {
    const store = await testStore();
    const { url, received } = await receiver((_, response) => response.writeHead(200).end());
    let failing = 1;
    const outbox = {
      ...store.outbox,
      delivered: (key: { id: string; endpointUrl: string }) =>
        failing-- > 0 ? Promise.reject(new StoreError("full", "no space")) : store.outbox.delivered(key),
    };
    const rig = await Rig.start([url], { store: outbox }, store);
    await rig.queue();
    expect(await rig.receives(1)).toEqual(["delivered batch.completed"]);
    expect(received).toHaveLength(1);
  });
});
