import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ModelFacts } from "../../../../../engine/protocol/config.ts";
import { ollamaModel, ollamaTags } from "../../../../../openapi/ollama/models.ts";
import { FACTS } from "../../fake-engine.ts";
import { startTestServer, type TestServer } from "../../test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

async function shown(facts: ModelFacts | null) {
  server.engine.facts = facts;
  return ollamaModel.parse(await (await server.post("/api/show", { model: "demo" })).json());
}

test.each(["/", "/api/version", "/api/tags"])("HEAD %s is 200 without a body", async (path) => {
  const response = await fetch(server.url + path, { method: "HEAD" });
  expect([response.status, await response.text()]).toEqual([200, ""]);
});

describe("a model", () => {
  test("that was never loaded has names and capabilities, and nothing that is null", async () => {
    const described = await shown(null);
    expect(described).toMatchObject({ capabilities: ["completion", "tools"], details: { families: [] } });
    expect(described.model_info).toEqual({ "general.architecture": "unknown", "general.basename": "demo" });
    const { models } = ollamaTags.parse(await (await fetch(`${server.url}/api/tags`)).json());
    expect(models).toMatchObject([{ name: "demo:latest", model: "demo:latest", size: 0 }]);
  });

  test("whose file is gone is described by what its engine reported, and the log says so", async () => {
    const { model_info } = await shown({ ...FACTS, context: 1000 });
    expect(model_info).toMatchObject({ "general.architecture": "llama", "llama.context_length": 1000 });
    expect(server.lines.filter(({ level }) => level === "warn")).toMatchObject([{ fields: { model: "demo" } }]);
  });

  test.each([
    ["mean", ["embedding"]],
    ["rank", []],
  ] as const)("with pooling %s that does not generate has the capabilities %j", async (pooling, capabilities) => {
    const embedding = { pooling, width: 4, context: 512 };
    const described = await shown({ ...FACTS, generates: false, embedding });
    expect(described.capabilities).toEqual(capabilities);
    expect(described.model_info["llama.context_length"]).toBe(512);
  });
});
