import OpenAI from "openai";
import { describe, expect, it, onTestFinished, test } from "vitest";
import { metricKindOf, readLoad } from "../../engine/upstream/replica/load-metrics.ts";
import { UPSTREAM_KINDS, type UpstreamKind } from "./dialect.ts";
import { FakeUpstream } from "./fake-upstream.ts";
import type { Misbehaviour } from "./misbehaviour.ts";
import type { UpstreamOptions } from "./upstream-options.ts";

async function start(kind: UpstreamKind, options: Partial<UpstreamOptions> = {}) {
  const upstream = await FakeUpstream.start({ kind, ...options });
  onTestFinished(() => upstream.stop());
  const client = new OpenAI({ baseURL: upstream.baseUrl, apiKey: "k", maxRetries: 0 });
  return { upstream, client };
}

const CHAT = "/v1/chat/completions";
const chat = (content: string) => ({ model: "m", messages: [{ role: "user" as const, content }] });

/** Posts without a client, whose bytes are read as they come. */
function post(upstream: FakeUpstream, body: unknown, path = CHAT, signal: AbortSignal | null = null) {
  return fetch(upstream.origin + path, { method: "POST", body: JSON.stringify(body), redirect: "manual", signal });
}
const streamed = (upstream: FakeUpstream, text: string, more: object = {}, signal: AbortSignal | null = null) =>
  post(upstream, { ...chat(text), stream: true, ...more }, CHAT, signal);

/** The parsed events of a stream's text; `[DONE]` as it stands. */
function eventsOf(text: string): unknown[] {
  const lines = text.split("\n\n").filter((event) => event !== "");
  return lines.map((line) => (line === "data: [DONE]" ? "[DONE]" : JSON.parse(line.slice("data: ".length))));
}

describe.each(UPSTREAM_KINDS)("%s", (kind) => {
  it("answers a client, streamed and not", async () => {
    const { client } = await start(kind);
    const whole = await client.chat.completions.create({ ...chat("one two three"), n: 2 });
    expect(whole.choices.map(({ message }) => message.content)).toEqual(["one two three", "one two three #1"]);
    expect(whole.usage).toMatchObject({ prompt_tokens: 3, completion_tokens: 7, total_tokens: 10 });

    const stream = await client.chat.completions.create({
      ...{ ...chat("count 4"), max_tokens: 3, stream: true as const, stream_options: { include_usage: true } },
    });
    let text = "";
    let finish: string | null = null;
    let usage: OpenAI.CompletionUsage | null | undefined;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      finish = chunk.choices[0]?.finish_reason ?? finish;
      usage = chunk.usage ?? usage;
    }
    expect({ text, finish }).toEqual({ text: "1 2 3", finish: "length" });
    expect(usage).toMatchObject({ prompt_tokens: 2, completion_tokens: 3 });

    const completion = await client.completions.create({ model: "m", prompt: "a b c d", stop: " c", logprobs: 1 });
    expect(completion.choices[0]).toMatchObject({ text: "a b", finish_reason: "stop" });
    expect(completion.choices[0]!.logprobs).toMatchObject({ tokens: ["a", " b"], text_offset: [0, 1] });
  });

  it("calls tools, with arguments in pieces", async () => {
    const { upstream, client } = await start(kind);
    const tools = ["f", "g"].map((name) => ({ type: "function" as const, function: { name } }));
    const { choices } = await client.chat.completions.create({ ...chat("call f g"), tools });
    const calls = choices[0]!.message.tool_calls!.map((call) => (call.type === "function" ? call.function : null));
    expect(calls).toEqual(["f", "g"].map((name) => ({ name, arguments: '{"text":"call f g"}' })));
    expect(choices[0]!.finish_reason).toBe("tool_calls");
    const text = await (await streamed(upstream, "x", { tools, tool_choice: "required" })).text();
    expect(text.match(/"tool_calls":\[/g)!.length).toBeGreaterThan(2);
  });

  it("lists its model, and shows its load in its own names", async () => {
    const { upstream, client } = await start(kind, { slots: 1 });
    expect((await client.models.list()).data.map(({ id }) => id)).toEqual(["m"]);
    if (kind === "hosted") return;
    expect((await fetch(`${upstream.origin}/health`)).status).toBe(200);
    upstream.script = () => ({ kind: "stall", after: 1 });
    const abort = new AbortController();
    const stalled = await streamed(upstream, "a b", {}, abort.signal);
    void streamed(upstream, "a b", {}, abort.signal).catch(() => {});
    await expect.poll(() => upstream.inFlight).toBe(2);
    const path = kind === "trtllm" ? "/prometheus/metrics" : "/metrics";
    const metrics = await (await fetch(upstream.origin + path)).text();
    expect(metricKindOf(metrics)).toBe(kind);
    expect(readLoad(kind, metrics, ["m"])).toMatchObject({ running: 1, waiting: 1 });
    abort.abort();
    await expect(stalled.text()).rejects.toThrow();
    await expect.poll(() => upstream.inFlight).toBe(0);
  });

  it("is overloaded in its own form", async () => {
    const { upstream } = await start(kind, { slots: 1, queue: 0 });
    upstream.script = () => (upstream.seen(CHAT).length === 1 ? { kind: "stall", after: 1 } : null);
    await streamed(upstream, "a b");
    const refused = await streamed(upstream, "c");
    expect(refused.status).toBe({ tgi: 429, hosted: 429, sglang: 200 }[kind as string] ?? 503);
    expect(await refused.text()).toMatch(/overloaded|queue|Rate limit|queued/i);
    expect(upstream.maxInFlight).toBe(2);
  });
});

describe("what differs between engines", () => {
  it("is the field of reasoning", async () => {
    const fields = await Promise.all(
      UPSTREAM_KINDS.map(async (kind) => {
        const { upstream } = await start(kind);
        const text = await (await streamed(upstream, "think hard")).text();
        return /"(reasoning\w*)":"Let"/.exec(text)?.[1] ?? null;
      }),
    );
    expect(fields).toEqual([
      ...["reasoning", "reasoning_content", "reasoning_content", null],
      ...["reasoning_content", null, "reasoning_content"],
    ]);
  });

  it("is a model that is not there, a priority, and a field that is unknown", async () => {
    const { upstream: vllm } = await start("vllm");
    expect((await post(vllm, { ...chat("a"), model: "other" })).status).toBe(404);
    expect(await (await post(vllm, { ...chat("a"), priority: 1 })).text()).toContain("Priority scheduling is not");
    const { upstream: llama } = await start("llama-server");
    expect((await post(llama, { ...chat("a"), model: "other", priority: 1 })).status).toBe(200);
    const { upstream: hosted } = await start("hosted", { apiKey: "right" });
    expect((await post(hosted, chat("a"))).status).toBe(401);
    const { client } = await start("hosted", { apiKey: "k" });
    await expect(client.chat.completions.create({ ...chat("a"), priority: 1 } as never)).rejects.toThrow(/priority/);
  });

  it("is the form of embeddings, ranks and tokens", async () => {
    const { upstream, client } = await start("vllm");
    const [plain, packed] = await Promise.all(
      (["float", "base64"] as const).map((encoding_format) =>
        client.embeddings.create({ model: "m", input: ["a b", "c"], encoding_format }),
      ),
    );
    expect(plain!.data).toHaveLength(2);
    const bytes = Buffer.from(String(packed!.data[0]!.embedding), "base64");
    expect(new Float32Array(bytes.buffer, bytes.byteOffset, 4)[0]).toBeCloseTo(plain!.data[0]!.embedding[0]!);
    const ranked = { query: "a b", documents: ["c", "a b", "b"] };
    const { results } = (await (await post(upstream, ranked, "/v1/rerank")).json()) as { results: { index: number }[] };
    expect(results.map(({ index }) => index)).toEqual([1, 2, 0]);
    expect(await (await post(upstream, { prompt: "a b" }, "/tokenize")).json()).toMatchObject({ count: 2 });
    const { upstream: sglang } = await start("sglang");
    expect(await (await post(sglang, ranked, "/v1/rerank")).json()).toMatchObject([{ index: 1 }, { index: 2 }, {}]);
    const { upstream: tgi } = await start("tgi");
    expect((await post(tgi, ranked, "/v1/rerank")).status).toBe(404);
    expect(await (await post(tgi, { inputs: "a b" }, "/tokenize")).json()).toMatchObject([
      { text: "a" },
      { text: " b" },
    ]);
  });

  it("is the order of priorities, where the engine has them", async () => {
    const order = async (kind: UpstreamKind) => {
      const { upstream } = await start(kind, { slots: 1, priority: true });
      upstream.script = () => (upstream.seen(CHAT).length === 1 ? { kind: "stall", after: 1 } : null);
      const abort = new AbortController();
      await streamed(upstream, "a b", {}, abort.signal);
      const ended: number[] = [];
      const waiting = [5, -5, 0].map(async (priority, nth) => {
        await expect.poll(() => upstream.inFlight).toBe(nth + 1);
        await (await post(upstream, { ...chat("c"), priority })).text();
        ended.push(priority);
      });
      await expect.poll(() => upstream.inFlight).toBe(4);
      abort.abort();
      await Promise.all(waiting);
      return ended;
    };
    expect(await order("vllm")).toEqual([-5, 0, 5]);
    expect(await order("sglang")).toEqual([5, 0, -5]);
  });
});

describe("misbehaviour", () => {
  /** The text of a streamed answer of five tokens with this wrong; null where the connection broke. */
  async function wrong(misbehaviour: Misbehaviour, text = "a b c d e") {
    const { upstream } = await start("vllm");
    upstream.script = () => misbehaviour;
    const response = await streamed(upstream, text, { stream_options: { include_usage: true } }).catch(() => null);
    const body = await response?.text().catch(() => null);
    return { response, body: body ?? null, upstream };
  }
  const contents = (text: string) =>
    [...text.matchAll(/"content":"( ?\w)"/g)].map(([, piece]) => piece!.trim()).join("");

  it("is a status with headers, a redirect, or a page", async () => {
    const refused = await wrong({ kind: "status", status: 529, headers: { "retry-after": "7" } });
    expect([refused.response!.status, refused.response!.headers.get("retry-after")]).toEqual([529, "7"]);
    expect((await wrong({ kind: "redirect", to: "http://127.0.0.1:1/" })).response!.status).toBe(307);
    expect((await wrong({ kind: "not json" })).body).toMatch(/^<html>/);
  });

  it("is an answer that breaks after two tokens", async () => {
    const error = await wrong({ kind: "in-band error", after: 2, event: { error: { message: "broke" } } });
    expect([contents(error.body!), eventsOf(error.body!).at(-1)]).toEqual(["ab", { error: { message: "broke" } }]);
    const half = await wrong({ kind: "half chunk", after: 2 });
    expect(contents(half.body!)).toBe("ab");
    expect(() => eventsOf(half.body!)).toThrow();
    const closed = await wrong({ kind: "close", after: 2 });
    expect([contents(closed.body!), closed.body!.includes("[DONE]")]).toEqual(["ab", false]);
    expect((await wrong({ kind: "reset", after: 2 })).body).toBeNull();
    expect((await wrong({ kind: "reset", after: "headers" })).response).toBeNull();
  });

  it("is a body that breaks in its middle, where it is not streamed", async () => {
    const { upstream } = await start("vllm");
    upstream.script = () => ({ kind: "close", after: 0 });
    const text = await (await post(upstream, chat("a b"))).text();
    expect(text).toMatch(/^\{"id"/);
    expect(() => JSON.parse(text)).toThrow();
  });

  it("is an end that is not said, and usage that is wrong", async () => {
    expect((await wrong({ kind: "no done" })).body).not.toContain("[DONE]");
    const usages = await Promise.all(
      (["missing", "zero", "twice", "lying"] as const).map(async (usage) => {
        const { body } = await wrong({ kind: "usage", usage });
        return [...body!.matchAll(/"completion_tokens":(\d+)/g)].map(([, tokens]) => Number(tokens));
      }),
    );
    expect(usages).toEqual([[], [0], [5, 5], [1]]);
  });

  it("is a pause, after which all is well", async () => {
    const { body } = await wrong({ kind: "pause", after: 2, ms: 20 });
    expect([contents(body!), eventsOf(body!).at(-1)]).toEqual(["abcde", "[DONE]"]);
  });

  it("is a wrong model, a huge event, and bytes in pieces", async () => {
    expect((await wrong({ kind: "wrong model", id: "other" })).body).toContain('"model":"other"');
    expect((await wrong({ kind: "huge event", bytes: 5_000_000 })).body!.length).toBeGreaterThan(5_000_000);
    const { body } = await wrong({ kind: "pieces", bytes: 1 }, "ä b 😀");
    expect(eventsOf(body!).at(-1)).toBe("[DONE]");
    expect(body).toContain("😀");
  });

  test.each<Misbehaviour>([{ kind: "stall", after: 1 }, { kind: "endless" }])(
    "is $kind, which ends when the client closes",
    async (misbehaviour) => {
      const { upstream } = await start("vllm");
      upstream.script = () => misbehaviour;
      const abort = new AbortController();
      const response = await streamed(upstream, "a b", {}, abort.signal);
      const [seen] = upstream.seen(CHAT);
      await response.body!.getReader().read();
      abort.abort();
      expect(await seen!.closed).toBe("aborted");
      await expect.poll(() => upstream.inFlight).toBe(0);
    },
  );

  it("is nothing at all before the headers", async () => {
    const { upstream } = await start("vllm");
    upstream.script = () => ({ kind: "stall", after: "headers" });
    const abort = new AbortController();
    const answer = post(upstream, chat("a"), CHAT, abort.signal);
    const seen = await upstream.arrival(CHAT);
    abort.abort();
    await expect(answer).rejects.toThrow();
    expect(await seen.closed).toBe("aborted");
  });
});

describe("what it saw", () => {
  it("has headers, body, tokens and end of each request", async () => {
    const { upstream } = await start("vllm");
    await (await streamed(upstream, "a b c")).text();
    const [seen] = upstream.seen(CHAT);
    expect(seen).toMatchObject({ method: "POST", path: CHAT, body: { stream: true }, tokens: 3 });
    expect(seen!.headers.host).toBe(upstream.origin.slice("http://".length));
    expect(await seen!.closed).toBe("ended");
  });

  it("has the abort of a request that waits for a slot, which it then does not compute", async () => {
    const { upstream } = await start("vllm", { slots: 1 });
    upstream.script = () => (upstream.seen(CHAT).length === 1 ? { kind: "stall", after: 1 } : null);
    await streamed(upstream, "a b");
    const abort = new AbortController();
    const waiting = post(upstream, chat("c"), CHAT, abort.signal).catch(() => null);
    const seen = await upstream.arrival(CHAT, 1);
    abort.abort();
    await waiting;
    expect(await seen.closed).toBe("aborted");
    await expect.poll(() => upstream.inFlight).toBe(1);
    expect(seen.tokens).toBe(0);
  });

  it("goes on after a restart at the same port, and refuses connections before", async () => {
    const { upstream, client } = await start("vllm");
    await upstream.stop();
    await expect(fetch(upstream.baseUrl)).rejects.toThrow();
    await upstream.restart();
    expect((await client.models.list()).data).toHaveLength(1);
    upstream.healthy = false;
    expect((await fetch(`${upstream.origin}/health`)).status).toBe(503);
    expect((await post(upstream, chat("a"))).status).toBe(503);
  });
});
