import OpenAI from "openai";
import { z } from "zod";
import { key as keySchema } from "../../openapi/resources/keys.ts";
import { owner as ownerSchema } from "../../openapi/resources/owners.ts";
import { readied, TestServer } from "./server.ts";

const ADMIN_KEY = "the administrator's own key";

/** The built server with API keys on, and its administrator. */
export class KeyedServer {
  readonly server: TestServer;

  private constructor(server: TestServer) {
    this.server = server;
  }

  static start(...args: string[]): Promise<KeyedServer> {
    return KeyedServer.startWith({}, ...args);
  }

  /** Starts with additions to its environment. */
  static async startWith(env: Record<string, string>, ...args: string[]): Promise<KeyedServer> {
    return new KeyedServer(await readied(new TestServer(args, { ...env, NIGHTSHIFT_ADMIN_KEY: ADMIN_KEY })));
  }

  get admin(): OpenAI {
    return this.clientOf(ADMIN_KEY);
  }

  clientOf(apiKey: string): OpenAI {
    return new OpenAI({ baseURL: `${this.server.origin}/v1`, apiKey, maxRetries: 0 });
  }

  /** A new key of owner "team" with these terms, and a client that uses it. */
  async key(terms: object = {}): Promise<{ id: string; client: OpenAI }> {
    const made: unknown = await this.admin.post("/nightshift/keys", {
      body: { name: "test", owner: "team", ...terms },
    });
    const { id, key } = keySchema.extend({ key: z.string() }).parse(made);
    return { id, client: this.clientOf(key) };
  }

  async patchKey(id: string, terms: object): Promise<void> {
    await this.admin.patch(`/nightshift/keys/${id}`, { body: terms });
  }

  async owner(name: string, budget?: object) {
    const path = `/nightshift/owners/${name}`;
    const answer: unknown = budget ? await this.admin.patch(path, { body: { budget } }) : await this.admin.get(path);
    return ownerSchema.strict().parse(answer);
  }
}
