import { expect, onTestFinished, test } from "vitest";
import { complete, stream } from "../api/ask.ts";
import { readied, TestServer } from "../api/server.ts";
import { freshDataDir } from "../batch/batch-rig.ts";
import { FakeUpstream } from "./fake-upstream.ts";
import { optionsFile } from "./served.ts";

const CHAT = "/v1/chat/completions";
/** Requests at the replica that is killed. */
const IN_FLIGHT = 64;

async function fake(): Promise<FakeUpstream> {
  const upstream = await FakeUpstream.start({ kind: "vllm" });
  onTestFinished(() => upstream.stop().catch(() => {}));
  return upstream;
}

test("one of two replicas that is killed under load fails no request that has shown nothing", async () => {
  const [dying, other] = [await fake(), await fake()];
  const config = optionsFile({ pair: { replicas: [dying.baseUrl, other.baseUrl] } });
  const server = await readied(
    new TestServer(["--config", config, "--data-dir", freshDataDir(), "--queue-limit", "1000"]),
  );
  onTestFinished(() => server.stop());
  const { client } = server;
  // Every other request is streamed.
  const ask = async (nth: number) => {
    const text = `load ${nth}`;
    if (nth % 2 === 0) return (await complete(client, text, { model: "m" })).choices[0]!.message.content!;
    const parts: string[] = [];
    for await (const { choices } of await stream(client, text, { model: "m" })) {
      parts.push(choices[0]?.delta.content ?? "");
    }
    return parts.join("");
  };
  dying.script = () => ({ kind: "stall", after: "headers" });
  // So slow that half of the requests are at each.
  other.script = () => ({ kind: "slow headers", ms: 5000 });
  const asked = Array.from({ length: 160 }, (_, nth) => ask(nth));
  await dying.arrival(CHAT, IN_FLIGHT - 1);
  await dying.stop();
  expect(await Promise.all(asked)).toEqual(asked.map((_, nth) => `load ${nth}`));
  other.script = () => null;
  // Its breaker is open, or its list says that it is away: none of these meets it.
  const attempts = async () => (await server.metrics()).sum("nightshift_upstream_requests_total", { status: "gone" });
  const before = await attempts();
  for (let i = 0; i < 20; i++) expect(await ask(i)).toBe(`load ${i}`);
  expect(await attempts()).toBe(before);
});
