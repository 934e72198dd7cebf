import { expect, onTestFinished, test } from "vitest";
import { type RouteReport, routeList } from "../../../../openapi/resources/routes.ts";
import { routesText } from "../../../../server/cli/routes-command.ts";
import { Scrape } from "../../../api/scrape.ts";
import { saying } from "../fake-engine.ts";
import { startTestServer } from "../test-server.ts";

const PRICE = { input: 1, cachedInput: 0.5, output: 2 };
const DEAR = { input: 10, cachedInput: 5, output: 20 };

/** A server of one model, with a route that names a dear one too. */
async function routed() {
  const server = await startTestServer({
    prices: { demo: PRICE, dear: DEAR },
    routes: { chat: { models: ["demo", "dear"], rules: [], choose: "cheapest", overflow: ["flex"] } },
  });
  onTestFinished(() => server.close());
  server.engine.script = saying("ok");
  const report = async () => {
    const response = await fetch(`${server.url}/v1/nightshift/routes`);
    return routeList.parse(await response.json()).data;
  };
  const ask = (service_tier: string) =>
    server.post("/v1/chat/completions", { model: "chat", service_tier, messages: [{ role: "user", content: "hi" }] });
  return { ...server, report, ask };
}

test("a route without requests has the states of its models, and no cost", async () => {
  const [route] = await (await routed()).report();
  expect(route).toMatchObject({ name: "chat", choose: "cheapest", overflow: ["flex"], latest: null, saving_usd: 0 });
  const unused = { cost_usd: null, requests: {}, share: 0, saving_usd: 0 };
  expect(route?.models).toEqual([
    { id: "demo", state: "ready", predicted_wait_ms: 0, ...unused },
    { id: "dear", state: null, predicted_wait_ms: null, ...unused },
  ]);
});

test("a routed request is counted with its reason, cost, and saving against the dearest model", async () => {
  const { ask, report, metrics } = await routed();
  await (await ask("default")).text();
  await expect.poll(async () => (await report())[0]?.models[0]?.cost_usd).toBeCloseTo(6e-6, 12);
  const [route] = await report();
  expect(route?.models[0]).toMatchObject({ requests: { cheapest: 1 }, share: 1 });
  expect(route?.latest).toEqual({ model: "demo", reason: "cheapest", at: 1_700_000_001 });
  // Three tokens at USD 9 more, two cached ones at 4.5 and one of the answer at 18 per million.
  expect(route?.saving_usd).toBeCloseTo(54e-6, 12);
  const scrape = new Scrape(await metrics.registry.metrics());
  expect(scrape.sum("nightshift_route_saving_usd_total", { route: "chat", model: "demo" })).toBeCloseTo(54e-6, 12);
  expect(scrape.sum("nightshift_routed_requests_total", { route: "chat", status: "cheapest" })).toBe(1);
});

test("the saving is that at the tier of the request", async () => {
  const { ask, report } = await routed();
  await (await ask("flex")).text();
  await expect.poll(async () => (await report())[0]?.saving_usd).toBeCloseTo(27e-6, 12);
});

test("a request that names a model itself is no request of a route", async () => {
  const { post, report } = await routed();
  await (await post("/v1/chat/completions", { model: "demo", messages: [{ role: "user", content: "hi" }] })).text();
  expect((await report())[0]).toMatchObject({ latest: null, saving_usd: 0 });
});

test("nightshift routes prints the report as a table", () => {
  const report: RouteReport = {
    object: "nightshift.route",
    name: "chat",
    choose: "cheapest",
    overflow: ["model", "flex"],
    models: [
      {
        id: "small",
        state: "ready",
        predicted_wait_ms: 1200,
        cost_usd: 0.00004,
        requests: { cheapest: 3, "rule 1": 1 },
        share: 0.8,
        saving_usd: 0.5,
      },
      { id: "big", state: null, predicted_wait_ms: null, cost_usd: null, requests: {}, share: 0, saving_usd: 0 },
    ],
    latest: { model: "small", reason: "cheapest", at: 1 },
    saving_usd: 0.5,
  };
  const text = routesText([report]);
  expect(text).toContain("Route 'chat' (cheapest; overflow to model, flex)");
  expect(text).toMatch(/small +ready +1,200 ms +0.000040 +80 % +0.500000 +cheapest: 3, rule 1: 1/);
  expect(text).toMatch(/big +not served +- +- +0 % +0.000000 +-/);
  expect(text).toContain("Saved since the server's start: USD 0.500000");
  expect(routesText([])).toContain("no routes");
});
