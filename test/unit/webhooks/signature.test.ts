import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { signer } from "../../../webhooks/signature.ts";

const SECRETS = ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "a plain secret, ünïcode"];
const payload = JSON.stringify({ id: "evt_1", type: "batch.completed", data: { id: "batch_ä" } });
const client = new OpenAI({ apiKey: "none" });

describe("a signature", () => {
  it.each(SECRETS)("with the secret %s is accepted by the openai SDK", async (secret) => {
    const headers = signer(secret).headers("evt_1", Date.now(), payload);
    await expect(client.webhooks.unwrap(payload, headers, secret)).resolves.toMatchObject({ id: "evt_1" });
    const changed = payload.replace("completed", "cancelled");
    await expect(client.webhooks.unwrap(changed, headers, secret)).rejects.toThrow(OpenAI.InvalidWebhookSignatureError);
    await expect(client.webhooks.unwrap(payload, headers, "another secret")).rejects.toThrow();
    const replayed = { ...headers, "webhook-id": "evt_2" };
    await expect(client.webhooks.unwrap(payload, replayed, secret)).rejects.toThrow();
  });

  it("matches the example of the Standard Webhooks specification", () => {
    const body = '{"test": 2432232314}';
    const headers = signer("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").headers(
      "msg_p5jXN8AQM9LWM0D4loKWxJek",
      1_614_265_330_000,
      body,
    );
    expect(headers).toEqual({
      "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
      "webhook-timestamp": "1614265330",
      "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    });
  });

  it.each(["", "whsec_", "whsec_not base64!"])("rejects the secret %j", (secret) => {
    expect(() => signer(secret)).toThrow();
  });
});
