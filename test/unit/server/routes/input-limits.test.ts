import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { operations } from "../../../../openapi/document/operations.ts";
import { limitsDocument, limitsOf } from "../../../../server/routes/input-limits.ts";
import { startTestServer, type TestServer } from "../test-server.ts";

const LIMIT = 2 * 1024 * 1024;
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ maxBody: LIMIT });
});
afterAll(() => server.close());

describe.each(operations.map((operation) => [`${operation.method} ${operation.path}`, operation] as const))(
  "%s",
  (_name, operation) => {
    it("has an entry", () => {
      expect(limitsOf(operation)).toBeDefined();
    });

    it.runIf(operation.request !== undefined)("reads no more than its bound", async () => {
      const path = operation.path.replace(/:\w+/g, "none");
      const send = (body: string) =>
        fetch(server.url + path, {
          method: operation.method.toUpperCase(),
          headers: { "content-type": "application/json" },
          body,
        });
      expect((await send(" ".repeat(LIMIT + 1))).status).toBe(413);
      const wide = await send(`{"x":[${Array(40_000).fill("[]").join()}]}`);
      expect([400, 413]).toContain(wide.status);
      await wide.text();
    });
  },
);

// After a change: npx vitest run test/unit/server/input-limits -u
it("docs/limits.md has the table", async () => {
  await expect(limitsDocument()).toMatchFileSnapshot("../../../../docs/limits.md");
});
