import { readdirSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type OpenAI from "openai";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { complete, stream } from "../api/ask.ts";
import { failure } from "../api/failure.ts";
import { freshDataDir } from "../batch/batch-rig.ts";
import type { Misbehaviour } from "./misbehaviour.ts";
import { ServedFakes } from "./served.ts";

const CHAT = "/v1/chat/completions";
const API_KEY = "upstream-key-marker-of-this-test";
const WORDS = "upstream-words-marker-of-this-test";

let served: ServedFakes;
let client: OpenAI;
beforeAll(async () => {
  const keyed = { apiKey: API_KEY, settings: { apiKeyEnv: "UPSTREAM_KEY" } };
  served = await ServedFakes.start(
    {
      m: keyed,
      hosted: { kind: "hosted", ...keyed },
      sglang: { kind: "sglang" },
      trusted: { settings: { trusted: true } },
    },
    ["--log-level", "trace", "--queue-limit", "100"],
    { UPSTREAM_KEY: API_KEY },
  );
  client = served.server.client;
});
afterAll(() => served.stop());
beforeEach(() => served.reset());

const say = (status: number, message = WORDS): Misbehaviour => ({
  ...{ kind: "status", status, body: { error: { message, type: "x", code: null } } },
});

describe("an upstream's failure", () => {
  // The numbers of attempts are those while the budget of retries lasts, so each class is a few requests at most.
  test.each<[string, Misbehaviour, number, string, string]>([
    ["429", say(429), 503, "server_is_overloaded", "overloaded"],
    ["529", say(529), 503, "server_is_overloaded", "overloaded"],
    ["401", say(401), 503, "upstream_unavailable", "refuses this server"],
    ["403", say(403), 503, "upstream_unavailable", "refuses this server"],
    ["404", say(404), 503, "upstream_unavailable", "refuses this server"],
    ["a redirect", { kind: "redirect", to: "http://127.0.0.1:1/" }, 503, "upstream_unavailable", "refuses this server"],
    ["400", say(400), 400, "upstream_refused", "refuses this request as invalid"],
    ["422", say(422), 400, "upstream_refused", "refuses this request as invalid"],
    ["a long prompt", say(400, `maximum context length ${WORDS}`), 400, "context_length_exceeded", "too long"],
  ])("is an error of the client's: %s", async (_, wrong, status, code, words) => {
    for (const model of ["m", "hosted"]) {
      served.fake(model).script = () => wrong;
      for (const ask of [complete, stream]) {
        const error = await failure(ask(client, "a b", { model }));
        expect(error).toMatchObject({ status, code });
        expect(error.message).toContain(words);
        expect(JSON.stringify(error.error)).not.toContain(WORDS);
        expect(error.headers?.get("retry-after") !== null).toBe(status === 503);
      }
    }
  });

  test.each<[string, Misbehaviour, string[]]>([
    ["500", say(500), ["upstream_failed"]],
    ["a page", { kind: "not json" }, ["upstream_failed"]],
    ["half an event", { kind: "half chunk", after: 0 }, ["upstream_failed"]],
    ["an event of 4 MB", { kind: "huge event", bytes: 4_000_000 }, ["upstream_failed"]],
    ["a reset", { kind: "reset", after: "headers" }, ["upstream_unavailable"]],
    ["502", say(502), ["upstream_unavailable"]],
    ["504", say(504), ["upstream_unavailable"]],
  ])("is the upstream's: %s", async (_, wrong, codes) => {
    const fake = served.fake("trusted");
    fake.script = () => wrong;
    const error = await failure(complete(client, "a b", { model: "trusted" }));
    expect(codes).toContain(error.code);
    expect(error.status).toBe(error.code === "upstream_failed" ? 502 : 503);
    expect(JSON.stringify(error.error)).not.toContain(WORDS);
    // Three failures are not five in a row: an answer comes between.
    fake.script = () => null;
    expect((await complete(client, "a", { model: "trusted" })).choices[0]!.message.content).toBe("a");
  });

  test("is an in-band error of a full queue, with its status", async () => {
    served.fake("sglang").script = () => ({ kind: "overloaded" });
    const error = await failure(stream(client, "a", { model: "sglang" }));
    expect(error).toMatchObject({ status: 503, code: "server_is_overloaded" });
  });

  test("has the upstream's words where the upstream is trusted", async () => {
    served.fake("trusted").script = () => say(400);
    const error = await failure(complete(client, "a", { model: "trusted" }));
    expect(error.message).toContain(WORDS);
  });

  test("passes where another attempt is lucky, and the client sees nothing of it", async () => {
    const fake = served.fake("sglang");
    fake.script = () => (fake.seen(CHAT).length === 1 ? say(500) : null);
    expect((await complete(client, "a b", { model: "sglang" })).choices[0]!.message.content).toBe("a b");
    expect(fake.seen(CHAT)).toHaveLength(2);
  });

  test("in the middle of a stream ends it with an error", async () => {
    served.fake("trusted").script = () => ({ kind: "reset", after: 2 });
    const chunks = await stream(client, "a b c", { model: "trusted" });
    const texts: string[] = [];
    const read = (async () => {
      for await (const { choices } of chunks) texts.push(choices[0]?.delta.content ?? "");
    })();
    await expect(read).rejects.toMatchObject({ code: expect.stringMatching(/^upstream_/) });
    expect(texts.join("")).toBe("a b");
  });

  test("is none where the model of the answer has another name, or the mark of its end is missing", async () => {
    for (const wrong of [{ kind: "wrong model", id: "other" }, { kind: "no done" }] as Misbehaviour[]) {
      served.fake("m").script = () => wrong;
      const { model, choices } = await complete(client, "a b", { model: "m" });
      expect([model, choices[0]!.message.content]).toEqual(["m", "a b"]);
    }
  });
});

describe("an answer without end", () => {
  let server: Server;
  let bombs: ServedFakes;
  let closed: Promise<number>;
  /** Writes the same bytes until the client closes, and counts them. */
  let chunk = "";
  beforeAll(async () => {
    server = createServer((request, response) => {
      if (request.url === "/v1/models") {
        response.end(JSON.stringify({ data: [{ id: "bomb" }] }));
        return;
      }
      request.resume();
      const isJson = !chunk.startsWith("data:") && !chunk.startsWith(":");
      response.writeHead(200, { "content-type": isJson ? "application/json" : "text/event-stream" });
      const bytes = Buffer.from(chunk);
      closed = new Promise((resolve) =>
        response.once("close", () => resolve(response.socket?.bytesWritten ?? written)),
      );
      let written = 0;
      const write = () => {
        while (!response.destroyed && written < 1_000_000_000) {
          written += bytes.length;
          if (!response.write(bytes)) return;
        }
        response.end();
      };
      response.on("drain", write);
      write();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    bombs = await ServedFakes.start({}, ["--upstream", `bombs=${url}`]);
  });
  afterAll(async () => {
    await bombs.stop();
    server.closeAllConnections();
    server.close();
  });

  test.each([
    ["1 GB of a JSON body", '{"x":"'.padEnd(65_536, "x")],
    ["a line of 1 GB", "data: ".padEnd(65_536, "x")],
    ["1 GB of comments", `:${"x".repeat(65_534)}\n`],
  ])("is given up: %s", async (_, bytes) => {
    chunk = bytes;
    const error = await failure(complete(bombs.server.client, "a", { model: "bomb" }));
    expect(error).toMatchObject({ status: 502, code: "upstream_failed" });
    expect(await closed).toBeLessThan(600_000_000);
  });

  test("leaves the server in order", async () => {
    expect((await bombs.server.ready()).status).toBe(200);
    expect((await bombs.server.metrics()).sum("nightshift_requests_running")).toBe(0);
  });
});

test("an upstream's key is in no log, answer, metric or file, and its words are in the log alone", async () => {
  const dataDir = freshDataDir();
  const echo = say(401, `${WORDS}: Incorrect API key provided: ${API_KEY}`);
  const own = await ServedFakes.start(
    { m: { apiKey: API_KEY, settings: { apiKeyEnv: "UPSTREAM_KEY", trusted: true } } },
    ["--log-level", "trace", "--data-dir", dataDir],
    { UPSTREAM_KEY: API_KEY },
  );
  try {
    const answers: string[] = [];
    expect((await complete(own.server.client, "a", { model: "m" })).choices[0]!.message.content).toBe("a");
    expect(own.fake("m").seen(CHAT)[0]!.headers.authorization).toBe(`Bearer ${API_KEY}`);
    for (const wrong of [echo, say(400, `wrong key ${API_KEY}`), { kind: "overloaded" } as Misbehaviour]) {
      own.fake("m").script = () => wrong;
      answers.push(JSON.stringify((await failure(complete(own.server.client, "a", { model: "m" }))).error));
    }
    await own.fake("m").stop();
    for (const path of ["/ready", "/metrics", "/v1/models", "/v1/nightshift/engine"]) {
      answers.push(await (await fetch(own.server.origin + path)).text());
    }
    const files = readdirSync(dataDir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"));
    expect(own.server.output).toContain(WORDS);
    for (const text of [own.server.output, ...answers, ...files]) expect(text).not.toContain(API_KEY);
    for (const text of [...answers, ...files]) expect(text).not.toContain(WORDS);
  } finally {
    await own.fake("m").restart();
    await own.stop();
  }
});
