import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { EventEmitter, once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import OpenAI from "openai";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { testStore } from "../unit/store/test-store.ts";
import { Rig, receiver, SECRET } from "./webhook-rig.ts";

const HOUR = 3_600_000;

describe("a webhook receiver", () => {
  it("gets an event once, signed for the openai SDK", async () => {
    const { url, received } = await receiver((_, response) => response.writeHead(204).end());
    const rig = await Rig.start([url]);
    await rig.queue();
    expect(await rig.receives(1)).toEqual(["delivered batch.completed"]);
    const client = new OpenAI({ apiKey: "none", webhookSecret: SECRET });
    const { headers, body } = received[0]!;
    const event = await client.webhooks.unwrap(body, new Headers(headers as Record<string, string>));
    expect(event).toMatchObject({ id: "evt_1", object: "event", type: "batch.completed", data: { id: "batch_1" } });
    expect(headers).toMatchObject({ "webhook-id": "evt_1", "content-type": "application/json" });
    rig.pass(4 * 24 * HOUR);
    await rig.delivery.close(1000);
    expect(received).toHaveLength(1);
    expect(await rig.waiting()).toEqual([]);
  });

  it("that fails is retried with the same id and body and a new timestamp", async () => {
    let status = 500;
    const { url, received } = await receiver((_, response) => response.writeHead(status).end());
    const rig = await Rig.start([url]);
    await rig.queue("batch.failed");
    await rig.receives(1);
    const [row] = await rig.waiting();
    expect(row).toMatchObject({ attempts: 1, lastError: "HTTP 500", nextAtMs: rig.now + 5000 });
    status = 200;
    rig.pass(5000);
    expect(await rig.receives(2)).toEqual(["failed batch.failed", "delivered batch.failed"]);
    const [first, second] = received;
    expect(second!.headers["webhook-id"]).toBe(first!.headers["webhook-id"]);
    expect(second!.body).toBe(first!.body);
    expect(Number(second!.headers["webhook-timestamp"]) - Number(first!.headers["webhook-timestamp"])).toBe(5);
    expect(second!.headers["webhook-signature"]).not.toBe(first!.headers["webhook-signature"]);
  });

  it("that fails for three days is given up", async () => {
    const { url, received } = await receiver((_, response) => response.writeHead(503).end());
    const rig = await Rig.start([url]);
    await rig.queue();
    let count = 1;
    while (!(await rig.receives(count)).includes("dead 1")) {
      const [row] = await rig.waiting();
      rig.pass(row!.nextAtMs - rig.now);
      count++;
    }
    expect(received.length).toBe(count);
    expect(count).toBeGreaterThan(15);
    expect(await rig.waiting()).toEqual([]);
  });

  it("is retried after its backoff, also when the wall clock is set back", async () => {
    let status = 503;
    const { url, received } = await receiver((_, response) => response.writeHead(status).end());
    const rig = await Rig.start([url]);
    await rig.queue();
    await rig.receives(1);
    status = 200;
    rig.setClock(-2 * 3_600_000);
    rig.pass(5_000 * 1.25);
    expect(await rig.receives(2)).toContain("delivered batch.completed");
    expect(received).toHaveLength(2);
  });

  it("is not given up by an unconfirmed clock", async () => {
    const { url } = await receiver((_, response) => response.writeHead(503).end());
    const rig = await Rig.start([url]);
    await rig.queue();
    await rig.receives(1);
    rig.settled = false;
    rig.pass(30 * 86_400_000);
    expect(await rig.receives(2)).toEqual(["failed batch.completed", "failed batch.completed"]);
    rig.settled = true;
    rig.pass(60_000);
    expect(await rig.receives(3)).toContain("dead 1");
  });

  it.each([301, 302, 307, 308, 304])("that answers %i is not followed, and counts as failed", async (status) => {
    const target = await receiver((_, response) => response.writeHead(200).end());
    const { url } = await receiver((_, response) => response.writeHead(status, { location: target.url }).end());
    const rig = await Rig.start([url]);
    await rig.queue();
    expect(await rig.receives(1)).toEqual(["failed batch.completed"]);
    expect((await rig.waiting())[0]?.lastError).toBe(`HTTP ${status}: redirects are not followed`);
    expect(target.received).toEqual([]);
  });

  it("that answers 410 gets no pending and no later event", async () => {
    let status = 500;
    const { url, received } = await receiver((_, response) => response.writeHead(status).end());
    const other = await receiver((_, response) => response.writeHead(200).end());
    const rig = await Rig.start([url, other.url]);
    await rig.queue();
    await rig.queue();
    await rig.receives(4);
    status = 410;
    await rig.queue();
    const recorded = await rig.receives(6);
    expect(recorded.slice(4).sort()).toEqual(["dead 3", "delivered batch.completed"]);
    await rig.queue();
    rig.pass(HOUR);
    expect((await rig.receives(7))[6]).toBe("delivered batch.completed");
    expect(received).toHaveLength(3);
    expect(await rig.waiting()).toEqual([]);
  });

  it("that answered 410 does not get an event that is being stored", async () => {
    const { url, received } = await receiver((_, response) => response.writeHead(200).end());
    const rig = await Rig.start([url]);
    const queued = rig.queue();
    rig.endpoints.disable(url);
    await queued;
    expect(await rig.receives(1)).toEqual(["dead 1"]);
    expect(received).toEqual([]);
  });

  it("that never answers fails after the timeout", async () => {
    const { url } = await receiver(() => {});
    const rig = await Rig.start([url], { timeoutMs: 100 });
    await rig.queue();
    expect(await rig.receives(1)).toEqual(["failed batch.completed"]);
    expect((await rig.waiting())[0]?.lastError).toBe("no answer within 0.1 s");
  });

  it("whose name never resolves fails after the timeout", async () => {
    const rig = await Rig.start(["https://slow.test/"], { timeoutMs: 100, resolve: () => new Promise(() => {}) });
    await rig.queue();
    await rig.receives(1);
    expect((await rig.waiting())[0]?.lastError).toBe("no answer within 0.1 s");
  });

  it("that answers without end is cut off, by its status", async () => {
    let written = 0;
    let closed = false;
    const { url } = await receiver((_, response) => {
      const chunk = Buffer.alloc(16 * 1024, "x");
      const more = () => {
        while (!response.destroyed && response.write(chunk)) written += chunk.length;
      };
      response.on("drain", more);
      response.on("close", () => {
        closed = true;
      });
      response.writeHead(200);
      more();
    });
    const rig = await Rig.start([url]);
    await rig.queue();
    expect(await rig.receives(1)).toEqual(["delivered batch.completed"]);
    await expect.poll(() => closed).toBe(true);
    // About the content of socket buffers, and far less than the whole answer.
    expect(written).toBeLessThan(16 * 1024 * 1024);
  });

  it("that answers slower than the timeout counts as answered", async () => {
    const { url } = await receiver((_, response) => response.writeHead(202).write("."));
    const timeout = new AbortController();
    const timeouts = vi.spyOn(AbortSignal, "timeout").mockReturnValue(timeout.signal);
    // The delivery is over as soon as the answer has begun.
    const begun = () => void setImmediate(() => timeout.abort());
    subscribe("http.client.response.finish", begun);
    onTestFinished(() => {
      unsubscribe("http.client.response.finish", begun);
      timeouts.mockRestore();
    });
    const rig = await Rig.start([url]);
    await rig.queue();
    expect(await rig.receives(1)).toEqual(["delivered batch.completed"]);
  });

  it("that is absent, hangs up or speaks no HTTP is retried", async () => {
    for (const answer of ["", "SSH-2.0-OpenSSH_9.6\r\n"]) {
      const server = createServer((socket) =>
        socket
          .on("error", () => {})
          .resume()
          .end(answer),
      );
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      const { port } = server.address() as AddressInfo;
      const rig = await Rig.start([`http://127.0.0.1:${port}/`]);
      await rig.queue();
      await rig.receives(1);
      server.close();
      await once(server, "close");
      rig.pass(10_000);
      expect(await rig.receives(2)).toEqual(["failed batch.completed", "failed batch.completed"]);
      expect((await rig.waiting())[0]?.lastError).toContain("ECONNREFUSED");
    }
  });

  it("that is slow delays no other, and gets four connections at most", async () => {
    let open = 0;
    let most = 0;
    const events = new EventEmitter();
    const slow = await receiver((_, response) => {
      most = Math.max(most, ++open);
      events.once("go", () => {
        open--;
        response.writeHead(200).end();
      });
      if (open === 4) events.emit("full");
    });
    const quick = await receiver((_, response) => response.writeHead(200).end());
    const rig = await Rig.start([slow.url, quick.url]);
    const full = once(events, "full");
    // More than one page of rows.
    for (let i = 0; i < 130; i++) await rig.queue();
    await rig.receives(130);
    expect(quick.received).toHaveLength(130);
    await full;
    const release = setInterval(() => events.emit("go"), 1);
    onTestFinished(() => clearInterval(release));
    await rig.receives(260);
    expect(most).toBe(4);
    expect(slow.received).toHaveLength(130);
  });

  it("that is no longer configured keeps its event for a time", async () => {
    const store = await testStore();
    const { url, received } = await receiver((_, response) => response.writeHead(200).end());
    const before = await Rig.start([url], {}, store);
    await before.delivery.close(0);
    await before.queue();
    const without = await Rig.start([], {}, store);
    without.delivery.wake();
    expect(await without.receives(1)).toEqual(["failed batch.completed"]);
    await without.delivery.close(0);
    const after = await Rig.start([url], {}, store);
    after.pass(60_000);
    expect(await after.receives(1)).toEqual(["delivered batch.completed"]);
    expect(received).toHaveLength(1);
  });
});

it("the log has no secret, path or query", async () => {
  const { url } = await receiver((_, response) => response.writeHead(500).end());
  const rig = await Rig.start([url]);
  await rig.queue();
  await rig.receives(1);
  rig.pass(4 * 24 * HOUR);
  await rig.receives(2);
  expect(rig.logged).toHaveLength(2);
  for (const line of rig.logged) {
    expect(line).toContain("127.0.0.1");
    expect(line).not.toContain("inthepath");
    expect(line).not.toContain(SECRET.slice(6));
  }
});
