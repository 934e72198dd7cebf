import { expect, it } from "vitest";
import { COMPLETION_WINDOW } from "../../../openapi/batches.ts";
import { startTestServer } from "../server/test-server.ts";

it("is not what a batch of several lines says that it is", async () => {
  const server = await startTestServer();
  const line = (id: string) =>
    JSON.stringify({ custom_id: id, method: "POST", url: "/v1/embeddings", body: { model: "demo", input: id } });
  const form = new FormData();
  form.set("purpose", "batch");
  form.set("file", new Blob([`${line("a")}\n${line("b")}\n`]), "two.jsonl");
  const input = await fetch(`${server.url}/v1/files`, { method: "POST", body: form });
  const { id: input_file_id }: { id?: string } = Object(await input.json());
  const request = {
    input_file_id,
    endpoint: "/v1/embeddings",
    completion_window: COMPLETION_WINDOW,
    metadata: { nightshift_job: "1" },
  };
  const created = await server.post("/v1/batches", request);
  const { id }: { id?: string } = Object(await created.json());
  const job = `${server.url}/v1/nightshift/jobs/${id?.replace("batch_", "job_")}`;
  await expect.poll(async () => (await fetch(job)).status).toBe(404);
  await server.close();
});
