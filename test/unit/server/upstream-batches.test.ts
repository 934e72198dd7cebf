import { expect, onTestFinished, test } from "vitest";
import { batch } from "../../../openapi/resources/batches.ts";
import { file } from "../../../openapi/resources/files.ts";
import { chatLine, jsonl } from "../../batch/batch-rig.ts";
import { FakeUpstream } from "../../upstream/fake-upstream.ts";
import { startTestServer } from "./test-server.ts";
import { upstreamSetting } from "./upstream-setting.ts";

async function start() {
  const upstream = await FakeUpstream.start({ kind: "hosted", model: "demo" });
  onTestFinished(() => upstream.stop());
  const server = await startTestServer({ upstream: [upstreamSetting("api", [upstream.baseUrl])] });
  onTestFinished(() => server.close());
  return { server, upstream };
}

test("a batch with lines that its upstream does not take fails before one of them is sent", async () => {
  const { server, upstream } = await start();
  const line = chatLine("a", "hi");
  const form = new FormData();
  form.set("purpose", "batch");
  form.set("file", new File([jsonl([{ ...line, body: { ...line.body, top_k: 5 } }])], "in.jsonl"));
  const uploaded = await fetch(`${server.url}/v1/files`, { method: "POST", body: form });
  const { id: input_file_id } = file.parse(await uploaded.json());
  const asked = { input_file_id, endpoint: "/v1/chat/completions", completion_window: "24h" };
  const { id } = batch.parse(await (await server.post("/v1/batches", asked)).json());
  const now = async () => batch.parse(await (await fetch(`${server.url}/v1/batches/${id}`)).json());
  await expect.poll(async () => (await now()).status, { timeout: 20_000 }).toBe("failed");
  expect((await now()).errors?.data).toMatchObject([
    { line: 1, message: "The upstream 'api' does not take top_k and min_p for this model." },
  ]);
  expect(upstream.seen("/v1/chat/completions")).toEqual([]);
});
