import { describe, expect, test } from "vitest";
import { type ApiError, invalidRequest, unavailable } from "../../../../openapi/api-error.ts";
import { overload } from "../../../../server/admission/overload.ts";
import type { InferenceRequest } from "../../../../server/inference/endpoint.ts";
import { firstOf, type Target, targetsOf } from "../../../../server/inference/targets.ts";
import type { OverflowStep } from "../../../../server/options/kinds/route-kind.ts";
import { Scrape } from "../../../api/scrape.ts";
import { startKeyedServer } from "../../../faults/keys-rig.ts";

const MESSAGES = [{ role: "user", content: "hi" }];
const AUTO = { model: "chat", messages: MESSAGES, service_tier: "auto" };

/** A server whose model has a wait that only flex accepts. */
async function crowded(overflow: OverflowStep[] = ["flex"]) {
  const route = { models: ["demo"], rules: [], choose: "first" as const, overflow };
  const server = await startKeyedServer({ routes: { chat: route }, maxWaitMs: 1000, flexWaitMs: 60_000 });
  server.engine.predictedWaitMs = () => 5000;
  const { key } = await server.key();
  const post = (body: object, path = "/v1/chat/completions", secret = key) => server.call(secret, "POST", path, body);
  return { ...server, post };
}

describe("where the route and the client leave the tier open", () => {
  test.each([
    ["/v1/chat/completions", AUTO],
    ["/v1/completions", { model: "chat", prompt: "hi", service_tier: "auto" }],
    ["/v1/responses", { model: "chat", input: "hi", service_tier: "auto" }],
  ])("a refused request of %s runs once, as flex, and says so", async (path, body) => {
    const { post, engine } = await crowded();
    const response = await post(body, path);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ service_tier: "flex" });
    expect(response.headers.get("x-nightshift-route")).toBe("chat=demo;%20flex");
    expect(engine.requests.map(({ submission }) => submission.tier)).toEqual(["flex"]);
  });

  test("each chunk of its stream says so, and the ledger has the price of flex", async () => {
    const { post, metrics } = await crowded();
    const text = await (await post({ ...AUTO, stream: true })).text();
    const chunks = text.match(/"service_tier":"\w+"/g) ?? [];
    expect(new Set(chunks)).toEqual(new Set(['"service_tier":"flex"']));
    const cost = async () =>
      new Scrape(await metrics.registry.metrics()).sum("nightshift_ledger_cost_usd_total", { tier: "flex" });
    // Three tokens at USD 1, two cached ones at 0.5 and one of the answer at 2 per million, half of that.
    await expect.poll(cost).toBeCloseTo(3e-6, 12);
  });

  test("a model that has room is not left for flex", async () => {
    const { post, engine } = await crowded();
    engine.predictedWaitMs = () => 0;
    const response = await post(AUTO);
    expect(await response.json()).toMatchObject({ service_tier: "default" });
    expect(response.headers.get("x-nightshift-route")).toBe("chat=demo;%20first");
  });

  test("the refusal is that of the tier without flex where flex has no room either", async () => {
    const { post, engine } = await crowded();
    engine.predictedWaitMs = () => 90_000;
    const response = await post(AUTO);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ error: { code: "server_is_overloaded" } });
  });
});

describe("a refused request is never flex", () => {
  test.each([
    ["without a tier", {}],
    ["at the tier default", { service_tier: "default" }],
    ["at the tier scale", { service_tier: "scale" }],
  ])("%s", async (_, tier) => {
    const { post } = await crowded();
    const { service_tier: __, ...body } = AUTO;
    expect((await post({ ...body, ...tier })).status).toBe(503);
  });

  test("by a route that does not name the step", async () => {
    const { post } = await crowded(["model"]);
    expect((await post(AUTO)).status).toBe(503);
  });

  test("for a model that is no route", async () => {
    const { post } = await crowded();
    expect((await post({ ...AUTO, model: "demo" })).status).toBe(503);
  });

  test("for a key that may not use it", async () => {
    const { post, key } = await crowded();
    const { key: secret } = await key({ tiers: ["default"] });
    expect((await post(AUTO, "/v1/chat/completions", secret)).status).toBe(503);
  });

  test("in Anthropic's API, where auto means priority", async () => {
    const { post } = await crowded();
    const body = { model: "chat", messages: MESSAGES, max_tokens: 5, service_tier: "auto" };
    expect((await post(body, "/v1/messages")).status).toBe(529);
  });
});

describe("the targets of a request", () => {
  const request = { model: "chat", asFlex: () => FLEX } as unknown as InferenceRequest;
  const FLEX = { model: "chat", tier: "flex" } as unknown as InferenceRequest;
  const routing = { route: "chat", models: ["a", "b"], candidates: ["a", "b"], flex: true, reason: "first" };
  const caller = { owner: "a", key: null };
  const tried = async (errors: Record<string, ApiError>) => {
    const targets: string[] = [];
    const admit = async ({ model, request: asked, overflow }: Target) => {
      const name = `${model}${asked === FLEX ? " flex" : ""}`;
      targets.push(`${name}: ${overflow}`);
      const error = errors[name];
      if (error !== undefined) throw error;
      return name;
    };
    const result = await firstOf(targetsOf(request, routing, caller), admit).catch((error: ApiError) => error);
    return { targets, result };
  };
  const loading = unavailable("model_loading", "The model loads.", 1);
  const full = overload("default", "full", 1000);

  test("are each model at its tier, then each at flex, once", async () => {
    const errors = { a: full, b: full, "a flex": full, "b flex": full };
    expect((await tried(errors)).targets).toEqual(["a: null", "b: overflow", "a flex: flex", "b flex: flex"]);
  });

  test("end at the first that takes it", async () => {
    expect(await tried({ a: full, b: full })).toMatchObject({ result: "a flex" });
  });

  test("refuse it by an Overload where there is one: it may become a job", async () => {
    const errors = { a: loading, b: full, "a flex": loading, "b flex": overload("flex", "full", 1000) };
    expect((await tried(errors)).result).toBe(full);
  });

  test("refuse it by the chosen model's error, not by one of a model that was not chosen", async () => {
    const unsupported = invalidRequest("unsupported_model", "tools", "It takes no tools.");
    const errors = { a: loading, b: unsupported, "a flex": unsupported, "b flex": unsupported };
    expect((await tried(errors)).result).toBe(loading);
  });
});
