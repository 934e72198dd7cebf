import { afterAll, beforeAll, expect, test } from "vitest";
import { job as jobSchema } from "../../openapi/resources/jobs.ts";
import { complete, user } from "../api/ask.ts";
import { HeldSteps } from "../api/held-steps.ts";
import { readied, TestServer } from "../api/server.ts";
import { occupied, poll, postChat } from "./job-rig.ts";

const steps = new HeldSteps();
let server: TestServer;
beforeAll(async () => {
  server = await readied(new TestServer(["--sequences", "1"], steps.env));
});
afterAll(() => server.stop());

const WITHOUT_WAIT = "respond-async, wait=0";

/** A request deferred because the only sequence is busy; its job runs afterwards. */
async function putOff(content: string, more: object = {}): Promise<string> {
  const response = await postChat(server, { messages: [user(content)], ...more }, WITHOUT_WAIT);
  expect(response.status).toBe(202);
  return response.headers.get("location")!;
}

test("a request that would wait becomes a job with the synchronous answer", async () => {
  const expected = await complete(server.client, "What is 7 + 8?");
  const busy = await occupied(server, steps);
  const response = await postChat(server, { messages: [user("What is 7 + 8?")] }, WITHOUT_WAIT);
  expect(response.status).toBe(202);
  expect(response.headers.get("preference-applied")).toBe("respond-async");
  const retryAfter = Number(response.headers.get("retry-after"));
  expect(retryAfter).toBeGreaterThanOrEqual(1);
  const job = jobSchema.strict().parse(await response.json());
  const location = response.headers.get("location")!;
  expect(location).toBe(`/v1/nightshift/jobs/${job.id}`);

  const pending = await fetch(server.origin + location);
  expect(pending.status).toBe(202);
  expect(["queued", "running"]).toContain(jobSchema.parse(await pending.json()).status);
  busy.leave();
  const answered = await poll(server, location);
  expect(answered.status).toBe(200);
  expect(answered.body).toMatchObject({
    object: "chat.completion",
    model: "demo",
    choices: expected.choices,
    nightshift: { tier: "batch" },
  });
  expect((await server.client.batches.retrieve(job.batch_id)).status).toBe("completed");
  const metrics = await server.metrics();
  expect(metrics.sum("nightshift_requests_total", { tier: "default", status: "put_off" })).toBe(1);
  expect(metrics.sum("nightshift_requests_total", { tier: "batch", status: "ok" })).toBe(1);
});

test("a stream, and a request without a wait, are answered synchronously", async () => {
  const response = await postChat(server, { messages: [user("What is 7 + 8?")] }, "respond-async");
  expect(response.status).toBe(200);
  expect(response.headers.get("preference-applied")).toBeNull();
  const streamed = await postChat(server, { messages: [user("Hi!")], stream: true }, WITHOUT_WAIT);
  expect(streamed.headers.get("content-type")).toContain("text/event-stream");
  await streamed.text();
});

test("a job that fails has the status and body of the synchronous call", async () => {
  const words = { messages: [user("word ".repeat(5000))] };
  const expected = await postChat(server, words, "");
  const busy = await occupied(server, steps);
  const location = await putOff(words.messages[0]!.content as string);
  busy.leave();
  const answered = await poll(server, location);
  expect(answered.status).toBe(400);
  expect(answered.body).toEqual(await expected.json());
});

test("a waiting job that is deleted does not run; a done one loses request and answer", async () => {
  const busy = await occupied(server, steps);
  const unwanted = await putOff("What is 2 + 3?");
  const cancelled = await fetch(server.origin + unwanted, { method: "DELETE" });
  expect(cancelled.status).toBe(200);
  expect(jobSchema.parse(await cancelled.json()).status).toBe("cancelling");
  const gone = await poll(server, unwanted);
  expect(gone).toMatchObject({ status: 410, body: { error: { code: "batch_cancelled" } } });

  const wanted = await putOff("What is 2 + 3?");
  busy.leave();
  expect(await poll(server, wanted)).toMatchObject({ status: 200, body: { choices: [{ message: { content: "5" } }] } });
  const removed = await fetch(server.origin + wanted, { method: "DELETE" });
  const { status, batch_id } = jobSchema.parse(await removed.json());
  expect(status).toBe("deleted");
  expect(await poll(server, wanted)).toMatchObject({ status: 410, body: { error: { code: "job_deleted" } } });
  const { input_file_id } = await server.client.batches.retrieve(batch_id);
  await expect(server.client.files.retrieve(input_file_id)).rejects.toMatchObject({ status: 404 });
});

test("an id that is not this owner's job is 404, also a batch's", async () => {
  for (const id of ["job_000000000000000000000000", "nonsense", "batch_000000000000000000000000"]) {
    expect((await fetch(`${server.origin}/v1/nightshift/jobs/${id}`)).status).toBe(404);
  }
});
