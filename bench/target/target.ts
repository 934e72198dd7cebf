import { Agent, type IncomingMessage, request } from "node:http";

/** A server under measurement. */
export interface Target {
  /** What the tables call it. */
  label: string;
  /** Where its OpenAI endpoints begin, such as http://127.0.0.1:8080/v1. Only http: one box, no proxy between. */
  base: URL;
  /** The model's name there. */
  model: string;
  /** Whether it reuses connections is the same for every server of a run. */
  agent: Agent;
}

/** What a server with API keys wants: NIGHTSHIFT_API_KEY, as for the other commands. */
export const AUTHORIZATION: Readonly<Record<string, string>> =
  process.env.NIGHTSHIFT_API_KEY === undefined ? {} : { authorization: `Bearer ${process.env.NIGHTSHIFT_API_KEY}` };

/** Reads `[label=]url`. */
export function parseTarget(text: string, fallback: string): { label: string; base: URL } {
  const [, label, url] = /^(?:([\w.-]+)=)?(http:\/\/.+)$/.exec(text) ?? [];
  if (url === undefined) throw new Error(`${text}: a server is given as http://host:port/v1, or label=http://…`);
  return { label: label ?? fallback, base: new URL(url.endsWith("/") ? url : `${url}/`) };
}

/**
 * Looks a server up; without a model name the first that /models lists is taken.
 * Without `keepAlive` each request opens its own connection. llama-server needs that: it promises keep-alive and closes
 * the connection after each stream all the same, so a request that follows at once is lost on a dying socket.
 */
export async function connect(
  label: string,
  base: URL,
  model: string | undefined,
  keepAlive: boolean,
): Promise<Target> {
  const agent = new Agent({ keepAlive, maxSockets: Number.POSITIVE_INFINITY });
  return { label, base, model: model ?? (await firstModel(base, agent)), agent };
}

async function firstModel(base: URL, agent: Agent): Promise<string> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(new URL("models", base), { agent, headers: AUTHORIZATION }, resolve).on("error", reject).end();
  });
  response.setEncoding("utf8");
  let text = "";
  for await (const chunk of response) text += chunk;
  const list: unknown = JSON.parse(text);
  const data = typeof list === "object" && list !== null && "data" in list && Array.isArray(list.data) ? list.data : [];
  const id: unknown = data[0]?.id;
  if (typeof id !== "string") throw new Error(`${base.href}models lists no model`);
  return id;
}
