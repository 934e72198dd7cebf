import { Webhook } from "standardwebhooks";

/** Signs events as Standard Webhooks 1.0 says: HMAC-SHA256 over `id.timestamp.payload`. */
export interface Signer {
  /** The three headers of one attempt; `id` stays the same over retries, the time does not. */
  headers(id: string, epochMs: number, payload: string): Record<string, string>;
}

/**
 * A secret that begins with `whsec_` is base64 of the key; any other text is the key itself, as in the openai SDK's
 * `webhooks.unwrap`. Throws for one that is empty or not base64.
 */
export function signer(secret: string): Signer {
  const webhook = secret.startsWith("whsec_")
    ? new Webhook(secret)
    : new Webhook(new TextEncoder().encode(secret), { format: "raw" });
  return {
    headers: (id, epochMs, payload) => ({
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(epochMs / 1000)),
      "webhook-signature": webhook.sign(id, new Date(epochMs), payload),
    }),
  };
}
