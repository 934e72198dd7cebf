import { z } from "zod";
import { endpointProblem, type WebhookEndpoint } from "../../../webhooks/endpoint.ts";
import { EVENT_TYPES } from "../../../webhooks/event-types.ts";
import { signer } from "../../../webhooks/signature.ts";
import type { Kind } from "./kind.ts";

const url = z
  .string()
  .trim()
  .max(2048)
  .superRefine((text, context) => {
    // The part that depends on webhookAllowPrivate is in rules.ts.
    const problem = endpointProblem(text, true);
    if (problem !== null) context.addIssue({ code: "custom", message: problem });
  })
  .transform((text) => (URL.canParse(text) ? new URL(text).href : text));

const endpoint = z.strictObject({
  url,
  secret: z.string().max(1024).refine(isSecret, "is neither whsec_ and base64 nor other text"),
  events: z
    .array(z.enum(EVENT_TYPES))
    .min(1)
    .transform((types) => [...new Set(types)])
    .default([...EVENT_TYPES]),
});

/** Endpoints of events. Only the file sets them, because secrets do not belong on a command line. */
export function webhooks(): Kind<WebhookEndpoint[]> {
  return {
    metavar: "list",
    allowed: "a list of maps of url, secret and, if not all are wanted, events",
    schema: z
      .array(endpoint)
      .max(100)
      .refine((list) => new Set(list.map((one) => one.url)).size === list.length, "two have the same url"),
    nested: true,
    fileOnly: true,
  };
}

function isSecret(secret: string): boolean {
  try {
    signer(secret);
    return true;
  } catch {
    return false;
  }
}
