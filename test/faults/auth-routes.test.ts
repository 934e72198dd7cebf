import { expect, test } from "vitest";
import { z } from "zod";
import { operations } from "../../openapi/document/operations.ts";
import { SCOPES } from "../../openapi/resources/keys.ts";
import { startKeyedServer } from "./keys-rig.ts";

const layers = z.array(
  z.object({ route: z.object({ path: z.string(), methods: z.record(z.string(), z.boolean()) }).optional() }),
);
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const OPEN = ["/", "/health", "/ready", "/openapi.json"];

test("every route needs a key but /, /health, /ready, /openapi.json and /metrics", async () => {
  const server = await startKeyedServer({ host: "0.0.0.0", metricsToken: "a token for metrics" });
  const routes = layers
    .parse(server.app.router.stack)
    .flatMap(({ route }) => (route === undefined ? [] : [route.path]));
  expect(routes.length).toBeGreaterThan(30);
  const open = new Set<string>();
  for (const path of [...routes, "/v1", "/nowhere", "//health", "/health/", "/Health", "/health/../v1/models"]) {
    for (const method of METHODS) {
      const { status } = await server.call(null, method, path.replace(/[:*]\w+/g, "none"));
      if (status !== 401) open.add(path);
    }
  }
  // /metrics needs its own token by GET; other methods are 405.
  expect((await server.call(null, "GET", "/metrics")).status).toBe(401);
  open.delete("/metrics");
  expect([...open].sort()).toEqual(OPEN.toSorted());
});

test("open routes name no model and no output of an engine", async () => {
  const server = await startKeyedServer();
  server.engine.state = { name: "failed", reason: "/home/someone/a.gguf is broken" };
  const ready = await server.call(null, "GET", "/ready");
  expect(ready.status).toBe(503);
  expect(await ready.json()).toMatchObject({ status: "not_ready", models: [{ state: "failed" }] });
  for (const path of OPEN) expect(await (await server.call(null, "GET", path)).text()).not.toMatch(/"demo"|someone/);
});

test("a key may call the operations of its scopes, an administrator's all", async () => {
  const server = await startKeyedServer();
  for (const scope of SCOPES) {
    const { key } = await server.key({ scopes: [scope] });
    for (const { method, path, access } of operations) {
      if (access === "open" || access === "token") continue;
      const { status } = await server.call(key, method.toUpperCase(), path.replace(/[:*]\w+/g, "none"));
      const allowed = access === "key" || access === scope || scope === "admin";
      expect(status === 403, `${method} ${path} with the scope ${scope}`).toBe(!allowed);
    }
  }
});
