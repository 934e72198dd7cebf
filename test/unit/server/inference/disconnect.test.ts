import { once } from "node:events";
import { request } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { FACTS } from "../fake-engine.ts";
import { startTestServer } from "../test-server.ts";

const BODIES = {
  "/v1/completions": { model: "demo", prompt: "Hi" },
  "/v1/embeddings": { model: "demo", input: "Hi" },
  "/tokenize": { model: "demo", prompt: "Hi" },
};

test.each(Object.entries(BODIES))(
  "a client of %s that disconnects no longer waits for the load",
  async (path, body) => {
    const server = await startTestServer();
    onTestFinished(() => server.close());
    let asked: (signal: AbortSignal) => void = () => {};
    const loading = new Promise<AbortSignal>((resolve) => {
      asked = resolve;
    });
    server.engine.state = { name: "unloaded" };
    server.engine.ready = async (signal) => {
      if (signal === undefined) return FACTS;
      asked(signal);
      await once(signal, "abort");
      throw signal.reason;
    };
    const headers = { "content-type": "application/json" };
    const client = request(server.url + path, { method: "POST", headers });
    client.on("error", () => {});
    client.end(JSON.stringify(body));
    const signal = await loading;
    expect(signal.aborted).toBe(false);
    client.destroy();
    await once(signal, "abort");
    if (path === "/tokenize") return;
    const counted = async () => {
      const { values } = (await server.metrics.registry.getSingleMetric("nightshift_requests_total")!.get()) ?? {};
      return values!.filter(({ value }) => value > 0).map(({ labels }) => [labels.endpoint, labels.status]);
    };
    await expect.poll(counted).toEqual([[path, "cancelled"]]);
  },
);
