import { createServer } from "node:net";
import type OpenAI from "openai";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { complete, stream } from "../api/ask.ts";
import { failure } from "../api/failure.ts";
import { readied, TestServer } from "../api/server.ts";
import { until } from "../api/until.ts";
import { chatLine, freshDataDir, jsonl, reaches, results, submit } from "../batch/batch-rig.ts";
import { optionsFile, ServedFakes } from "./served.ts";

const CHAT = "/v1/chat/completions";

let served: ServedFakes;
let client: OpenAI;
// Each fake has one short timeout; the others are longer than the test may last.
beforeAll(async () => {
  served = await ServedFakes.start({
    first: { settings: { timeouts: { firstEvent: "300ms" } } },
    silent: { settings: { timeouts: { silence: "300ms" } } },
    batched: { settings: { timeouts: { batchSilence: 0.3 } } },
  });
  client = served.server.client;
});
afterAll(() => served.stop());

test("a first event that does not come within its timeout fails the attempts", async () => {
  const fake = served.fake("first");
  fake.script = () => ({ kind: "stall", after: "headers" });
  expect((await failure(complete(client, "a b", { model: "first" }))).code).toBe("upstream_unavailable");
  for (const seen of fake.seen(CHAT)) expect(await seen.closed).toBe("aborted");
});

test("a silence in the middle of an answer that exceeds its timeout ends it with an error", async () => {
  const fake = served.fake("silent");
  fake.script = () => ({ kind: "stall", after: 1 });
  const texts: string[] = [];
  const read = async () => {
    for await (const { choices } of await stream(client, "a b", { model: "silent" })) {
      texts.push(choices[0]?.delta.content ?? "");
    }
  };
  await expect(read()).rejects.toMatchObject({ code: "upstream_unavailable" });
  expect(texts.join("")).toBe("a");
  expect(await fake.seen(CHAT)[0]!.closed).toBe("aborted");
});

test("a batch line has its own silence, after which it runs again", async () => {
  const fake = served.fake("batched");
  fake.script = () => (fake.seen(CHAT).length === 1 ? { kind: "stall", after: 1 } : null);
  const { id } = await submit(client, jsonl([chatLine("l", "a b", { model: "batched" })]));
  const { output } = await results(client, await reaches(client, id, "completed"));
  expect(output).toMatchObject([{ custom_id: "l" }]);
  expect(await Promise.all(fake.seen(CHAT).map(({ closed }) => closed))).toEqual(["aborted", "ended"]);
});

test("a batch line outlasts the silence of other requests", async () => {
  const fake = served.fake("silent");
  fake.requests.length = 0;
  fake.script = () => ({ kind: "pause", after: 1, ms: 1500 });
  const { id } = await submit(client, jsonl([chatLine("l", "a b", { model: "silent" })]));
  await reaches(client, id, "completed");
  expect(await Promise.all(fake.seen(CHAT).map(({ closed }) => closed))).toEqual(["ended"]);
});

test("a connection that is not made within its timeout is a failure of the replica", async () => {
  // The peer accepts and says nothing, so that no TLS handshake ends.
  const mute = createServer(() => {});
  await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void mute.close());
  const url = `https://127.0.0.1:${Object(mute.address()).port}`;
  const config = optionsFile({ mute: { url, models: ["m"], timeouts: { connect: "300ms" } } });
  const server = await readied(new TestServer(["--config", config, "--data-dir", freshDataDir()]));
  onTestFinished(() => server.stop());
  await until("the failure to be named", async () => {
    const list: unknown = await (await fetch(`${server.origin}/v1/nightshift/upstreams`)).json();
    return JSON.stringify(list).includes(`"last_error":"UND_ERR_CONNECT_TIMEOUT"`);
  });
});
