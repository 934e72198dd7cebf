import type { Readable } from "node:stream";
import { Agent, type Dispatcher, EnvHttpProxyAgent, request } from "undici";
import type { Hub } from "./hub.ts";

/** The answer of the last server in a chain of redirects. */
export interface Answer {
  status: number;
  header(name: string): string | null;
  /** The first value of a header that the hub itself sent, on any hop; null if it sent none. */
  hubHeader(name: string): string | null;
  /** The caller reads or destroys it. */
  body: Readable;
}

export interface HttpClientOptions {
  hub: Hub;
  /** Read for HTTP_PROXY, HTTPS_PROXY and NO_PROXY, in either case. */
  env: Record<string, string | undefined>;
  /** Milliseconds that a server may take to begin its answer, and between two chunks of a body. */
  timeouts?: { answerMs: number; silenceMs: number };
}

/** The server did not answer, or its answer is unusable; the message has the reason. */
export class HttpFault extends Error {
  /** True if no server was reached. */
  readonly unreachable: boolean;

  constructor(message: string, unreachable = false) {
    super(message);
    this.unreachable = unreachable;
  }
}

const TIMEOUTS = { answerMs: 20_000, silenceMs: 30_000 };
const MAX_REDIRECTS = 10;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** GET requests with proxies, bounded redirects and timeouts. The hub's token is sent only to the hub's origin. */
export class HttpClient {
  readonly #hub: Hub;
  readonly #hubOrigin: string;
  readonly #answerMs: number;
  readonly #dispatcher: Dispatcher;

  constructor({ hub, env, timeouts = TIMEOUTS }: HttpClientOptions) {
    this.#hub = hub;
    this.#hubOrigin = new URL(hub.endpoint).origin;
    this.#answerMs = timeouts.answerMs;
    const httpProxy = env.http_proxy || env.HTTP_PROXY;
    const httpsProxy = env.https_proxy || env.HTTPS_PROXY;
    const agent = { bodyTimeout: timeouts.silenceMs, connect: { timeout: timeouts.answerMs } };
    const noProxy = env.no_proxy ?? env.NO_PROXY ?? "";
    // EnvHttpProxyAgent falls back to process.env for missing values, so that it is made only if a proxy is set.
    this.#dispatcher =
      httpProxy || httpsProxy
        ? new EnvHttpProxyAgent({ ...agent, httpProxy: httpProxy ?? "", httpsProxy: httpsProxy ?? "", noProxy })
        : new Agent(agent);
  }

  /** Follows redirects to http and https, but never from https to http. Throws HttpFault, or the signal's reason. */
  async get(url: string, headers: Record<string, string>, signal: AbortSignal): Promise<Answer> {
    const fromHub: Dispatcher.ResponseData["headers"][] = [];
    let at = new URL(url);
    for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
      const answer = await this.#request(at, headers, signal);
      if (at.origin === this.#hubOrigin) fromHub.push(answer.headers);
      if (!REDIRECTS.has(answer.statusCode)) return answerOf(answer, fromHub);
      answer.body.destroy();
      at = redirected(at, one(answer.headers.location));
    }
    throw new HttpFault(`${new URL(url).host} redirects more than ${MAX_REDIRECTS} times`);
  }

  async close(): Promise<void> {
    await this.#dispatcher.destroy();
  }

  async #request(url: URL, headers: Record<string, string>, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    signal.throwIfAborted();
    const own: Record<string, string> = { "accept-encoding": "identity", "user-agent": "nightshift", ...headers };
    if (this.#hub.token !== null && url.origin === this.#hubOrigin) own.authorization = `Bearer ${this.#hub.token}`;
    // A timer, because Node 20 has only a weak reference to a timeout signal, and a collected one never fires.
    const stop = new AbortController();
    const late = setTimeout(() => stop.abort(new HttpFault(`${url.host} does not answer`, true)), this.#answerMs);
    const abort = () => stop.abort(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    try {
      const answer = await request(url, { headers: own, dispatcher: this.#dispatcher, signal: stop.signal });
      // The body is read after this call has returned.
      answer.body.once("close", () => signal.removeEventListener("abort", abort));
      // Errors are thrown to the reader of the body; a destroyed body has none.
      answer.body.on("error", () => {});
      return answer;
    } catch (error) {
      signal.removeEventListener("abort", abort);
      signal.throwIfAborted();
      if (error instanceof HttpFault) throw error;
      throw new HttpFault(`${url.host} cannot be reached (${causeOf(error)})`, true);
    } finally {
      clearTimeout(late);
    }
  }
}

/** The cause of a failed request, in a few words. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ("code" in error && typeof error.code === "string") return error.code;
  return error.cause instanceof Error ? causeOf(error.cause) : error.message;
}

function redirected(from: URL, location: string | null): URL {
  const to = location !== null && URL.canParse(location, from.href) ? new URL(location, from) : null;
  if (to === null) throw new HttpFault(`${from.host} redirects to nowhere`);
  if (to.protocol === "https:" || (to.protocol === "http:" && from.protocol === "http:")) return to;
  throw new HttpFault(`${from.host} redirects from ${from.protocol}// to ${to.protocol}//, which is not followed`);
}

function answerOf(answer: Dispatcher.ResponseData, fromHub: Dispatcher.ResponseData["headers"][]): Answer {
  return {
    status: answer.statusCode,
    header: (name) => one(answer.headers[name]),
    hubHeader: (name) => fromHub.map((headers) => one(headers[name])).find((value) => value !== null) ?? null,
    body: answer.body,
  };
}

function one(header: string | string[] | undefined): string | null {
  return (Array.isArray(header) ? header[0] : header) ?? null;
}
