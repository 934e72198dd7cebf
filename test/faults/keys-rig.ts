import OpenAI from "openai";
import { onTestFinished } from "vitest";
import { z } from "zod";
import { key as keySchema } from "../../openapi/resources/keys.ts";
import type { Options } from "../../server/options/table.ts";
import { saying } from "../unit/server/fake-engine.ts";
import { startTestServer } from "../unit/server/test-server.ts";

export const ADMIN_KEY = "the administrator's own key";

/** The real app with API keys on, over a real store and a fake engine that says "ok". */
export async function startKeyedServer(options: Partial<Options> = {}) {
  const server = await startTestServer({ apiKeys: "on", adminKey: ADMIN_KEY, ...options });
  onTestFinished(() => server.close());
  server.engine.script = saying("ok");

  const call = (secret: string | null, method: string, path: string, body?: unknown) =>
    fetch(server.url + path, {
      method,
      headers: {
        ...(secret !== null && { authorization: `Bearer ${secret}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });

  return {
    ...server,
    call,
    /** A key with its secret; by default of owner a, with the default scopes. */
    async key(terms: object = {}) {
      const response = await call(ADMIN_KEY, "POST", "/v1/nightshift/keys", { name: "test", owner: "a", ...terms });
      return keySchema.extend({ key: z.string() }).parse(await response.json());
    },
    client: (apiKey: string) => new OpenAI({ baseURL: `${server.url}/v1`, apiKey, maxRetries: 0 }),
  };
}
export type KeyedServer = Awaited<ReturnType<typeof startKeyedServer>>;
