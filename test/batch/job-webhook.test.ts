import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { expect, onTestFinished, test } from "vitest";
import { job as jobSchema } from "../../openapi/resources/jobs.ts";
import { user } from "../api/ask.ts";
import { HeldSteps } from "../api/held-steps.ts";
import { readied, TestServer } from "../api/server.ts";
import { until } from "../api/until.ts";
import { receiver, SECRET } from "../faults/webhook-rig.ts";
import { occupied, postChat } from "./job-rig.ts";

test("a job's answer exists when its batch's webhook is sent", async () => {
  const { url, received } = await receiver((_, response) => response.writeHead(204).end());
  const folder = mkdtempSync(join(tmpdir(), "nightshift-config-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const config = join(folder, "nightshift.yaml");
  writeFileSync(config, JSON.stringify({ webhooks: [{ url, secret: SECRET, events: ["batch.completed"] }] }));
  const steps = new HeldSteps();
  const options = ["--sequences", "1", "--webhook-allow-private", "on", "--config", config];
  const server = await readied(new TestServer(options, steps.env));
  try {
    const busy = await occupied(server, steps);
    const putOff = await postChat(server, { messages: [user("What is 7 + 8?")] }, "respond-async, wait=0");
    expect(putOff.status).toBe(202);
    const job = jobSchema.parse(await putOff.json());
    expect(received).toEqual([]);
    busy.leave();
    await until("the webhook", () => received.length > 0);

    const client = new OpenAI({ apiKey: "none", webhookSecret: SECRET });
    const { headers, body } = received[0]!;
    const event = await client.webhooks.unwrap(body, new Headers(headers as Record<string, string>));
    expect(event).toMatchObject({ type: "batch.completed", data: { id: job.batch_id } });
    const answered = await fetch(`${server.origin}/v1/nightshift/jobs/${job.id}`);
    expect(answered.status).toBe(200);
    expect(await answered.json()).toMatchObject({ choices: [{ message: { content: "15" } }] });
    expect(received).toHaveLength(1);
  } finally {
    await server.stop();
  }
});
