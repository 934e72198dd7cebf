import { expect, test } from "vitest";
import { ADMIN_KEY, startKeyedServer } from "./keys-rig.ts";

const METACHARACTERS = [
  "' OR '1'='1",
  "'; DROP TABLE keys; --",
  '" OR ""="',
  "%",
  "_",
  "x\\' OR 1=1 --",
  "0 UNION SELECT 1",
];

test("SQL in keys, ids, cursors and metadata is data (CVE-2026-42208)", async () => {
  const server = await startKeyedServer({ trustedProxy: ["127.0.0.1"] });
  const { key, id } = await server.key();
  for (const [index, text] of METACHARACTERS.entries()) {
    const headers = { authorization: `Bearer ns_${text}`, "x-forwarded-for": `10.0.0.${index}` };
    expect((await fetch(`${server.url}/v1/models`, { headers })).status).toBe(401);
    const part = encodeURIComponent(text);
    for (const path of ["/v1/files", "/v1/batches", "/v1/nightshift/jobs", "/v1/nightshift/keys"]) {
      expect((await server.call(ADMIN_KEY, "GET", `${path}/${part}`)).status, path).toBe(404);
    }
    for (const path of ["/v1/files", "/v1/batches", "/v1/nightshift/keys"]) {
      expect((await server.call(ADMIN_KEY, "GET", `${path}?after=${part}`)).status, path).toBe(400);
    }
    const labelled = await server.key({ name: text, metadata: { [text]: text } });
    expect(labelled).toMatchObject({ name: text, metadata: { [text]: text } });
    const owner = await server.call(ADMIN_KEY, "GET", `/v1/nightshift/keys?owner=${part}`);
    expect(await owner.json()).toMatchObject({ data: [] });
  }
  expect(await (await server.call(ADMIN_KEY, "GET", `/v1/nightshift/keys/${id}`)).json()).toMatchObject({ id });
  expect((await server.call(key, "GET", "/v1/models")).status).toBe(200);
});
