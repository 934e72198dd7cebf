import { expect, test } from "vitest";
import { startKeyedServer } from "../../../faults/keys-rig.ts";
import { FACTS, saying } from "../fake-engine.ts";

/** More bytes than a body may have that is read while no model takes requests. */
const LARGE = " ".repeat(70_000);
const MESSAGES = [{ role: "user", content: "x".repeat(100) }];
const AHEAD = "/v1/completions";
const NO_TASK = { ...FACTS, generates: false, embedding: null };
const RANKING = { ...FACTS, embedding: { ...FACTS.embedding!, pooling: "rank" as const } };

interface Answer {
  status: number;
  code: string | null;
  message: string;
}

interface Kind {
  path: string;
  /** A valid body; null makes it invalid. */
  body: (model: string | null) => object;
  /** False for requests of which texts are tokenized only: no tier, task or budget is checked, and no metric counts them. */
  runs: boolean;
}

const KINDS: Record<string, Kind> = {
  chat: { path: "/v1/chat/completions", body: (model) => ({ model, messages: MESSAGES }), runs: true },
  completion: { path: "/v1/completions", body: (model) => ({ model, prompt: "x".repeat(100) }), runs: true },
  embedding: { path: "/v1/embeddings", body: (model) => ({ model, input: "x".repeat(100) }), runs: true },
  rank: {
    path: "/v1/rerank",
    body: (model) => ({ model, query: "x", documents: ["x".repeat(100)] }),
    runs: true,
  },
  "dry run": {
    path: "/v1/chat/completions",
    body: (model) => ({ model, messages: MESSAGES, nightshift: { dry_run: true } }),
    runs: false,
  },
  tokenization: { path: "/v1/tokenize", body: (model) => ({ model: model ?? 1, prompt: "x" }), runs: false },
};

test.each(Object.entries(KINDS))("the first fault of a request decides its refusal: %s", async (name, kind) => {
  const server = await startKeyedServer({ queueLimit: 1 });
  const [limited, poor, usual] = await Promise.all([
    server.key({ requests_per_minute: 1, budget: { daily_usd: 0 } }),
    server.key({ budget: { daily_usd: 0 } }),
    server.key(),
  ]);
  let key = limited.key;
  const ask = async (body: object, padding = ""): Promise<Answer> => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${key}` };
    const response = await fetch(server.url + kind.path, {
      method: "POST",
      headers,
      body: JSON.stringify(body) + padding,
    });
    const { error } = (await response.json()) as { error?: Omit<Answer, "status"> };
    return { status: response.status, code: error?.code ?? null, message: error?.message ?? "" };
  };
  const tokenizes = name === "tokenization";
  const asked = (model: string | null, tier = "priority") =>
    tokenizes ? kind.body(model) : { ...kind.body(model), service_tier: tier };
  const submitted = server.engine.next();
  server.engine.script = (request) => request.listener.accepted(5, null);
  const ahead = server.call(usual.key, "POST", AHEAD, { model: "demo", prompt: "y", max_tokens: 2 });
  const waiting = await submitted;
  server.engine.facts = NO_TASK;
  server.state.draining = true;

  const unread = await ask(asked(null), LARGE);
  if (tokenizes) expect(unread).toMatchObject({ status: 400 });
  else expect(unread).toMatchObject({ status: 503, code: "server_shutting_down" });
  expect(await ask(asked(null))).toMatchObject({ status: 400 });
  expect(await ask(asked("other"))).toMatchObject({ status: 404, code: "model_not_found" });
  if (!tokenizes) expect(await ask(asked("demo"))).toMatchObject({ status: 403, code: "tier_not_allowed" });
  const valid = asked("demo", "default");
  expect(await ask(valid)).toMatchObject({ status: 503, code: "server_shutting_down" });
  server.state.draining = false;
  if (!tokenizes) expect(await ask(valid)).toMatchObject({ status: 400, code: "unsupported_model" });
  server.engine.facts = name === "rank" ? RANKING : FACTS;
  expect(await ask(valid)).toMatchObject({ status: 503, code: "server_is_overloaded" });
  waiting.begin().say("a").finish();
  await (await ahead).text();
  server.engine.script = saying("ok");
  server.engine.embeds = ({ listener }) => {
    listener.accepted(25, null);
    listener.started();
    listener.vector(0, new Float32Array(4));
  };

  if (kind.runs) {
    key = poor.key;
    expect(await ask(valid)).toMatchObject({ status: 429, code: "insufficient_quota" });
  } else {
    // It costs nothing, and counts as a request.
    expect(await ask(valid)).toMatchObject({ status: 200 });
    expect(await ask(valid)).toMatchObject({ status: 429, code: "rate_limit_exceeded" });
  }
  key = usual.key;
  expect(await ask(valid)).toMatchObject({ status: 200 });

  const { values } = (await server.metrics.registry.getSingleMetric("nightshift_requests_total")?.get()) ?? {};
  const counts = Object.fromEntries(
    (values ?? []).flatMap(({ labels: { model, endpoint, tier, status }, value }) =>
      endpoint === kind.path && value > 0 ? [[`${model} ${tier} ${status}`, value]] : [],
    ),
  );
  if (kind.runs) {
    expect(counts).toEqual({
      " default refused": 3,
      " default unavailable": 1,
      "demo default refused": 1,
      "demo default unavailable": 2,
      "demo default limited": 1,
      // With the one that was ahead.
      "demo default ok": kind.path === AHEAD ? 2 : 1,
    });
  } else if (tokenizes) expect(counts).toEqual({});
  else expect(counts).toEqual({ " default refused": 4, " default unavailable": 3, " default limited": 1 });
});
