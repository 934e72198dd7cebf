import { expect, onTestFinished, test } from "vitest";
import { upstreamList } from "../../openapi/resources/upstreams.ts";
import { readied, TestServer } from "../api/server.ts";
import { chatLine, freshDataDir, jsonl, reaches, submit } from "../batch/batch-rig.ts";
import { FakeUpstream } from "./fake-upstream.ts";

test("the limit that a replica has shown holds again after a restart", async () => {
  const fake = await FakeUpstream.start({ kind: "vllm", model: "m" });
  onTestFinished(() => fake.stop());
  const dataDir = freshDataDir();
  const serve = async () => {
    const server = await readied(new TestServer(["--upstream", `fake=${fake.baseUrl}`, "--data-dir", dataDir]));
    onTestFinished(() => server.stop());
    const limit = async () => {
      const answer = await fetch(`${server.origin}/v1/nightshift/upstreams`);
      return upstreamList.parse(await answer.json()).data[0]!.replicas[0]!.limit;
    };
    return { server, limit };
  };
  const first = await serve();
  expect(await first.limit()).toBe(8);
  const lines = Array.from({ length: 200 }, (_, nth) => chatLine(`l${nth}`, "a b c", { model: "m" }));
  await reaches(first.server.client, (await submit(first.server.client, jsonl(lines))).id, "completed");
  const grown = await first.limit();
  expect(grown).toBeGreaterThan(8);
  first.server.kill("SIGTERM");
  await first.server.exited;
  const second = await serve();
  expect(await second.limit()).toBe(grown);
});
