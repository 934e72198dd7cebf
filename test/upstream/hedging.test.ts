import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { complete } from "../api/ask.ts";
import { readied, TestServer } from "../api/server.ts";
import { until } from "../api/until.ts";
import { freshDataDir } from "../batch/batch-rig.ts";
import { FakeUpstream } from "./fake-upstream.ts";
import { optionsFile } from "./served.ts";

const CHAT = "/v1/chat/completions";
/** Online requests before the first that may be hedged. */
const BEFORE = 49;

async function fake(): Promise<FakeUpstream> {
  const upstream = await FakeUpstream.start({ kind: "vllm" });
  onTestFinished(() => upstream.stop().catch(() => {}));
  return upstream;
}

test("a request at a replica that stalls is answered by the other one, and charged once", async () => {
  const replicas = [await fake(), await fake()];
  const dataDir = freshDataDir();
  const config = optionsFile({ pair: { replicas: replicas.map(({ baseUrl }) => baseUrl), hedge: true } });
  const server = await readied(new TestServer(["--config", config, "--data-dir", dataDir]));
  onTestFinished(() => server.stop());
  const options = { model: "m", service_tier: "priority" as never };
  const ask = async (text: string) => (await complete(server.client, text, options)).choices[0]!.message.content!;
  const count = async (name: string, labels: object) =>
    (await server.metrics()).sum(`nightshift_upstream_${name}`, { ...labels });
  for (let nth = 0; nth < BEFORE; nth++) expect(await ask(`warm ${nth}`)).toBe(`warm ${nth}`);
  expect(await count("hedged_total", {})).toBe(0);
  // The second report is asked for once the first was read.
  await until("both to report their queues", () => replicas.every((one) => one.seen("/metrics").length > 1));
  // The first replica that is asked shows nothing; its second attempt meets the other.
  const before = replicas.map((one) => one.seen(CHAT).length);
  const asked = () => replicas.reduce((sum, one, nth) => sum + one.seen(CHAT).length - before[nth]!, 0);
  for (const one of replicas) one.script = () => (asked() === 1 ? { kind: "stall", after: "headers" } : null);
  expect(await ask("which one")).toBe("which one");
  const seen = replicas.flatMap((one, nth) => one.seen(CHAT).slice(before[nth]));
  expect(seen).toHaveLength(2);
  expect((await Promise.all(seen.map(({ closed }) => closed))).sort()).toEqual(["aborted", "ended"]);
  await until(
    "both attempts to be counted",
    async () => (await count("requests_total", { status: "cancelled" })) === 1,
  );
  expect(await count("requests_total", { status: "ok" })).toBe(BEFORE + 1);
  expect(await count("hedged_total", { status: "second" })).toBe(1);
  expect(await count("inflight", {})).toBe(0);
  const db = new Database(join(dataDir, "nightshift.db"), { readonly: true });
  onTestFinished(() => void db.close());
  const charged = () => db.prepare("SELECT count(*) AS requests, sum(output_tokens) AS tokens FROM ledger").get();
  await until(
    "the ledger's rows",
    () => JSON.stringify(charged()) === JSON.stringify({ requests: BEFORE + 1, tokens: 2 * (BEFORE + 1) }),
  );
});
