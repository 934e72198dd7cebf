import { expect, onTestFinished, test } from "vitest";
import { complete } from "../api/ask.ts";
import { failure } from "../api/failure.ts";
import { chatLine, jsonl, submit } from "../batch/batch-rig.ts";
import { ServedFakes } from "./served.ts";

const CHAT = "/v1/chat/completions";

test("an online request that a cap would hold for too long is 429 with Retry-After, and batch leaves it room", async () => {
  const served = await ServedFakes.start(
    { capped: { kind: "hosted", settings: { kind: "openai", rate: { requestsPerMinute: 10 } } } },
    ["--max-wait-ms", "5s", "--shift", "always"],
  );
  onTestFinished(() => served.stop());
  const { client } = served.server;
  const fake = served.fake("capped");
  const lines = Array.from({ length: 20 }, (_, nth) => chatLine(`l${nth}`, "batch", { model: "capped" }));
  await submit(client, jsonl(lines));
  // Nine of ten in a minute are all that a batch gets.
  await fake.arrival(CHAT, 8);
  expect((await complete(client, "online", { model: "capped" })).choices[0]!.message.content).toBe("online");
  expect(fake.seen(CHAT)).toHaveLength(10);
  const error = await failure(complete(client, "too many", { model: "capped" }));
  expect(error).toMatchObject({ status: 429, code: "rate_limit_exceeded" });
  const seconds = Number(error.headers?.get("retry-after"));
  expect(seconds).toBeGreaterThan(0);
  expect(seconds).toBeLessThanOrEqual(56);
  expect(fake.seen(CHAT)).toHaveLength(10);
});
