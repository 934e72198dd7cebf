import { afterEach, expect, test } from "vitest";
import { ask, complete } from "../api/ask.ts";
import { HeldLoads } from "../api/held-loads.ts";
import { TestServer } from "../api/server.ts";

let server: TestServer;
afterEach(() => server.stop());

test("while a model loads, /ready has its progress and requests are 503 with Retry-After", async () => {
  const loads = new HeldLoads();
  loads.hold();
  server = new TestServer([], loads.env);
  await server.says("Listening; the models are loading");

  const ready = await server.ready();
  expect(ready.status).toBe(503);
  expect(await ready.json()).toMatchObject({
    status: "not_ready",
    models: [{ id: "demo", state: "loading", progress: expect.any(Number) }],
  });
  expect((await fetch(`${server.origin}/health`)).status).toBe(200);
  const { data } = await server.client.models.list();
  expect(data.map(({ id }) => id)).toEqual(["demo"]);
  const refused = await complete(server.client, "Hello!").catch((error: unknown) => error);
  expect(refused).toMatchObject({ status: 503, code: "model_loading" });
  expect(refused).toHaveProperty("headers");

  loads.release();
  await server.readyIs(200);
  expect(await ask(server.client, "Capital of Ghana?")).toBe("The capital of Ghana is Accra.");
});
