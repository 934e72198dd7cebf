import { Agent, type IncomingMessage, request } from "node:http";

/** A server under measurement. */
export interface Target {
  /** Its name in tables. */
  label: string;
  /** Base URL of its OpenAI endpoints, such as http://127.0.0.1:8080/v1. Only http: one machine, without a proxy. */
  base: URL;
  /** The model's name at this server. */
  model: string;
  /** Connection reuse is the same for every server of a run. */
  agent: Agent;
}

/** Header for a server with API keys, from NIGHTSHIFT_API_KEY as for the other commands. */
export const AUTHORIZATION: Readonly<Record<string, string>> =
  process.env.NIGHTSHIFT_API_KEY === undefined ? {} : { authorization: `Bearer ${process.env.NIGHTSHIFT_API_KEY}` };

/** Parses `[label=]url`. */
export function parseTarget(text: string, fallback: string): { label: string; base: URL } {
  const [, label, url] = /^(?:([\w.-]+)=)?(http:\/\/.+)$/.exec(text) ?? [];
  if (url === undefined) throw new Error(`${text}: a server is given as http://host:port/v1, or label=http://…`);
  return { label: label ?? fallback, base: new URL(url.endsWith("/") ? url : `${url}/`) };
}

/**
 * Connects to a server; without a model name its first one in /models is used. Without `keepAlive` each request opens
 * its own connection. llama-server requires that: it announces keep-alive but closes the connection after each stream,
 * so the next request is lost on a closing socket.
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
