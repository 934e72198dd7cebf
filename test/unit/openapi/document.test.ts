import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { openApiDocument } from "../../../openapi/document/document.ts";
import { operations } from "../../../openapi/document/operations.ts";
import { DEFAULT_REQUEST_LIMITS } from "../../../openapi/request-limits.ts";
import { startTestServer, type TestServer } from "../server/test-server.ts";

const layers = z.array(
  z.object({
    route: z.object({ path: z.string(), methods: z.record(z.string(), z.boolean()) }).optional(),
    // Of a nested router, whose routes are not listed here.
    handle: z.custom<{ stack?: unknown }>().optional(),
  }),
);

describe("the OpenAPI document", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  });
  afterAll(() => server.close());

  it("has exactly the routes that the router serves", async () => {
    const stack = layers.parse(server.app.router.stack);
    expect(stack.filter(({ route, handle }) => route === undefined && handle?.stack !== undefined)).toEqual([]);
    const served = stack.flatMap(({ route }) =>
      route === undefined
        ? []
        : Object.keys(route.methods)
            .filter((method) => method !== "_all")
            .map((method) => `${method} ${route.path.replace(/[:*](\w+)/g, "{$1}")}`),
    );
    const shape = z.object({ openapi: z.string(), paths: z.record(z.string(), z.record(z.string(), z.unknown())) });
    const { openapi, paths } = shape.parse(await (await fetch(`${server.url}/openapi.json`)).json());
    const documented = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    );
    expect(documented.sort()).toEqual(served.sort());
    expect(openapi).toBe("3.1.0");
  });

  it.each(operations)("$method $path is answered by a route of its own", async ({ method, path }) => {
    const body = method === "post" ? { body: "{}", headers: { "content-type": "application/json" } } : {};
    const response = await fetch(server.url + path.replace(/:\w+/g, "none"), { method: method.toUpperCase(), ...body });
    const text = await response.text();
    expect(text).not.toContain("unknown_url");
    expect(text).not.toContain("method_not_allowed");
    expect(response.status).not.toBe(500);
  });

  const described = z.object({
    servers: z.array(z.object({ url: z.string() })),
    paths: z.record(
      z.string(),
      z.record(
        z.string(),
        z.object({
          operationId: z.string(),
          tags: z.array(z.string()).length(1),
          security: z.array(z.unknown()),
          parameters: z.array(z.object({ name: z.string(), in: z.string(), schema: z.looseObject({}) })).default([]),
          requestBody: z.object({ content: z.record(z.string(), z.unknown()) }).optional(),
          responses: z.record(z.string(), z.object({ content: z.record(z.string(), z.looseObject({})) })),
        }),
      ),
    ),
  });
  const { servers, paths } = described.parse(openApiDocument(DEFAULT_REQUEST_LIMITS, "1.2.3"));
  const all = Object.values(paths).flatMap((methods) => Object.values(methods));

  it("describes numbers and flags of a query by the types that clients pass", () => {
    const types = new Map(
      all.flatMap(({ parameters }) => parameters.map(({ name, schema }) => [name, schema.type] as const)),
    );
    expect(Object.fromEntries(types)).toMatchObject({
      limit: "integer",
      start_time: "integer",
      end_time: "integer",
      batch: "boolean",
      after: "string",
    });
  });

  it("has one schema for each 200, so that generated clients can read it", () => {
    for (const { responses } of all)
      expect(JSON.stringify(responses["200"]?.content["application/json"] ?? "")).not.toContain("oneOf");
  });

  it("has a server, the security of open operations, and 413 and 415 for JSON bodies", () => {
    expect(servers).toEqual([{ url: "/" }]);
    for (const { operationId, requestBody, responses } of all.filter(({ requestBody }) => requestBody !== undefined)) {
      const isJson = requestBody?.content["application/json"] !== undefined;
      expect(isJson ? Object.keys(responses) : ["413", "415"], operationId).toEqual(
        expect.arrayContaining(["413", "415"]),
      );
    }
    expect(paths["/health"]?.get?.security).toEqual([]);
  });

  it("has every schema that it refers to, in one dialect", () => {
    const document = openApiDocument(DEFAULT_REQUEST_LIMITS, "1.2.3");
    const text = JSON.stringify(document);
    const { schemas } = z.object({ schemas: z.record(z.string(), z.unknown()) }).parse(document.components);
    const references = [...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name);
    expect(references.length).toBeGreaterThan(5);
    for (const name of references) expect(Object.keys(schemas)).toContain(name);
    expect(text).not.toContain("$schema");
  });

  it("has the required fields and the configured limits of the validation", () => {
    const document = openApiDocument({ ...DEFAULT_REQUEST_LIMITS, choices: 7 }, "1.2.3");
    const { schemas } = z
      .object({ schemas: z.record(z.string(), z.record(z.string(), z.unknown())) })
      .parse(document.components);
    expect(schemas.ChatCompletionRequest?.required).toEqual(["model", "messages"]);
    expect(schemas.CompletionRequest?.required).toEqual(["model", "prompt"]);
    expect(JSON.stringify(schemas.ChatCompletionRequest)).toContain('"maximum":7');
    expect(schemas.ChatCompletionRequest).not.toHaveProperty("additionalProperties");
  });
});
