import { expect, test } from "vitest";
import { startKeyedServer } from "./keys-rig.ts";

const GUESS = `ns_0123456789abcdef_${"x".repeat(43)}`;

test("an address that tries keys is limited, except for keys that were right before", async () => {
  const server = await startKeyedServer({ trustedProxy: ["127.0.0.1"] });
  const [early, late] = [await server.key(), await server.key()];
  const models = (key: string, from: string) =>
    fetch(`${server.url}/v1/models`, { headers: { authorization: `Bearer ${key}`, "x-forwarded-for": from } });
  expect((await models(early.key, "10.0.0.1")).status).toBe(200);
  const statuses = [];
  for (let attempt = 0; attempt < 25; attempt++) statuses.push((await models(GUESS, "10.0.0.1")).status);
  expect(statuses.filter((status) => status === 401)).toHaveLength(20);
  const refused = await models(GUESS, "10.0.0.1");
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get("retry-after-ms"))).toBeGreaterThan(0);
  // After that time a key is checked; SDKs obey x-should-retry before Retry-After.
  expect(refused.headers.get("x-should-retry")).toBeNull();
  // A right guess is refused too.
  expect((await models(late.key, "10.0.0.1")).status).toBe(429);
  expect((await models(early.key, "10.0.0.1")).status).toBe(200);
  expect((await models(late.key, "10.0.0.2")).status).toBe(200);
  const counted = await (await fetch(`${server.url}/metrics`)).text();
  expect(counted).toContain('nightshift_authentication_refused_total{status="401"} 20\n');
  expect(counted).toContain('nightshift_authentication_refused_total{status="429"} 7\n');
});

test("X-Forwarded-For without a trusted proxy has no effect", async () => {
  const server = await startKeyedServer();
  const statuses = [];
  for (let attempt = 0; attempt < 22; attempt++) {
    const headers = { authorization: `Bearer ${GUESS}`, "x-forwarded-for": `10.0.0.${attempt}` };
    statuses.push((await fetch(`${server.url}/v1/models`, { headers })).status);
  }
  expect(statuses.slice(-2)).toEqual([429, 429]);
});

test("only the part of X-Forwarded-For by a trusted proxy counts", async () => {
  const server = await startKeyedServer({ trustedProxy: ["127.0.0.0/8"] });
  const statuses = [];
  for (let attempt = 0; attempt < 22; attempt++) {
    const headers = { authorization: `Bearer ${GUESS}`, "x-forwarded-for": `10.0.0.${attempt}, 192.0.2.7` };
    statuses.push((await fetch(`${server.url}/v1/models`, { headers })).status);
  }
  expect(statuses.slice(-2)).toEqual([429, 429]);
});
