import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { expect, onTestFinished, test } from "vitest";
import { receiver, SECRET } from "../faults/webhook-rig.ts";
import { complete } from "./ask.ts";
import { KeyedServer } from "./keyed.ts";
import { until } from "./until.ts";

test("a budget that runs out sends one signed webhook", async () => {
  const { url, received } = await receiver((_, response) => response.writeHead(204).end());
  const folder = mkdtempSync(join(tmpdir(), "nightshift-config-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const config = join(folder, "nightshift.yaml");
  const events = ["nightshift.budget.warning"];
  writeFileSync(config, JSON.stringify({ webhooks: [{ url, secret: SECRET, events }] }));
  const keyed = await KeyedServer.start(
    "--prices",
    "demo=10/5/20",
    "--webhook-allow-private",
    "on",
    "--config",
    config,
  );
  try {
    const { id, client } = await keyed.key({ budget: { monthly_usd: 0.01, soft_ratio: 0.001 } });
    await complete(client, "Hi", { max_tokens: 4 });
    await until("the webhook", () => received.length > 0);
    const { headers, body } = received[0]!;
    const receiving = new OpenAI({ apiKey: "none", webhookSecret: SECRET });
    const event: unknown = await receiving.webhooks.unwrap(body, new Headers(headers as Record<string, string>));
    expect(event).toMatchObject({
      type: "nightshift.budget.warning",
      data: { id, scope: "key", period: "monthly", limit_usd: 0.01, soft_ratio: 0.001 },
    });
    const spent = (await keyed.owner("team")).spending.day_usd;
    await complete(client, "Hi", { max_tokens: 4 });
    await until("the second cost", async () => (await keyed.owner("team")).spending.day_usd > spent);
    expect(received).toHaveLength(1);
  } finally {
    await keyed.server.stop();
  }
});
