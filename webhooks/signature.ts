import { Webhook } from "standardwebhooks";

/** Signs events by Standard Webhooks 1.0: HMAC-SHA256 over `id.timestamp.payload`. */
export interface Signer {
  /** The three headers of one attempt; `id` is the same for all retries, the time is not. */
  headers(id: string, epochMs: number, payload: string): Record<string, string>;
}

/**
 * A secret with the prefix `whsec_` is the key in base64; any other text is the key itself, as in the openai SDK's
 * `webhooks.unwrap`. Throws for an empty secret or invalid base64.
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
