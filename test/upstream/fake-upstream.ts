import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate as immediate, setTimeout as wait } from "node:timers/promises";
import type { AnswerView } from "./answer-events.ts";
import { type Asked, fieldsOf, readAsked } from "./asked.ts";
import type { Dialect, FakeLoad, UpstreamKind } from "./dialect.ts";
import { DIALECTS } from "./dialects.ts";
import { aborted, Ended, EventWriter } from "./event-writer.ts";
import { answerOf } from "./fake-answer.ts";
import { writeAnswer, writeJson } from "./generation.ts";
import { type Misbehaviour, usagesOf } from "./misbehaviour.ts";
import { keyRefusal, refusalOf } from "./refusal.ts";
import type { SeenRequest } from "./seen-request.ts";
import { embeddingsBody, rerankBody, textOf, tokenizeBody } from "./side-answers.ts";
import { Slots } from "./slots.ts";
import { DEFAULT_CONTEXT, type UpstreamOptions } from "./upstream-options.ts";

const GENERATED = ["/v1/chat/completions", "/v1/completions"];

type Script = (request: SeenRequest) => Misbehaviour | null;

/** A server on loopback that speaks OpenAI's API as an engine of the given kind does, and misbehaves on command. */
export class FakeUpstream {
  readonly kind: UpstreamKind;
  readonly model: string;
  /** All requests in the order of their arrival; those of models, metrics and health too. */
  readonly requests: SeenRequest[] = [];
  /** Asked for every request to an engine; null: it behaves. */
  script: Script = () => null;
  /** False: the health check fails with 503, and requests too. */
  healthy = true;
  /** False: its model is not listed, and requests for it are refused. */
  listed = true;
  /** Headers of every answer to a request by POST. */
  answerHeaders: Readonly<Record<string, string>> = {};
  /** Requests by POST in flight, and the most that were at once. */
  inFlight = 0;
  maxInFlight = 0;
  /** The figures of the KV cache, and tokens generated since the start. */
  kvUsed = 0;
  generatedTokens = 0;
  readonly #options: UpstreamOptions;
  readonly #dialect: Dialect;
  readonly #slots: Slots;
  #server: Server;
  #port = 0;

  private constructor(options: UpstreamOptions) {
    this.kind = options.kind;
    this.model = options.model ?? "m";
    this.#options = options;
    this.#dialect = DIALECTS[options.kind];
    this.#slots = new Slots(options.slots ?? Number.POSITIVE_INFINITY, options.queue ?? Number.POSITIVE_INFINITY);
    this.#server = this.#serve();
  }

  static async start(options: UpstreamOptions): Promise<FakeUpstream> {
    const upstream = new FakeUpstream(options);
    await upstream.restart();
    return upstream;
  }

  /** `http://127.0.0.1:port`, the same over restarts. */
  get origin(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** As a client's base URL. */
  get baseUrl(): string {
    return `${this.origin}/v1`;
  }

  /** Requests of a path that came. */
  seen(path: string): SeenRequest[] {
    return this.requests.filter((request) => request.path === path);
  }

  /** Resolves when the n-th request of the path, from 0, has come. */
  async arrival(path: string, nth = 0): Promise<SeenRequest> {
    while (this.seen(path)[nth] === undefined) await wait(5);
    return this.seen(path)[nth]!;
  }

  /** Breaks all connections; connections are refused until `restart`. */
  async stop(): Promise<void> {
    await new Promise((resolve) => {
      this.#server.close(resolve);
      this.#server.closeAllConnections();
    });
  }

  /** Listens; after a `stop` at the same port. */
  async restart(): Promise<void> {
    this.#server = this.#serve();
    await new Promise<void>((resolve) => this.#server.listen(this.#port, "127.0.0.1", resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  #serve(): Server {
    return createServer((request, response) => void this.#take(request, response));
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "/", this.origin);
    const abort = new AbortController();
    const closed = new Promise<"ended" | "aborted">((resolve) => {
      response.once("close", () => {
        if (!response.writableFinished) abort.abort();
        resolve(response.writableFinished ? "ended" : "aborted");
      });
    });
    const seen: SeenRequest = {
      ...{ method: request.method ?? "", path: pathname, query: searchParams.toString(), headers: request.headers },
      ...{ body: null, tokens: 0, closed, port: request.socket.remotePort ?? 0 },
    };
    this.requests.push(seen);
    try {
      seen.body = await readBody(request);
      if (request.method === "GET") this.#get(seen, response);
      else await this.#post(seen, response, abort.signal);
    } catch (error) {
      const expected = error instanceof Ended || abort.signal.aborted || request.destroyed;
      if (!expected) throw error;
    }
  }

  #get(seen: SeenRequest, response: ServerResponse): void {
    const { path } = seen;
    const { metrics, error } = this.#dialect;
    const refusal = keyRefusal(seen, error, this.#options.apiKey);
    const facts = { id: this.model, context: this.#options.context ?? DEFAULT_CONTEXT };
    const slots = this.#options.slots ?? 4;
    const info = this.#dialect.info(facts, slots);
    if (refusal !== null) send(response, ...refusal);
    else if (path === this.#dialect.health)
      send(response, this.healthy ? 200 : 503, this.healthy ? {} : this.#error(503, "Loading model"));
    else if (path === "/v1/models") {
      send(response, 200, { object: "list", data: this.listed ? [this.#dialect.model(facts)] : [] });
    } else if (metrics !== null && path === metrics.path && this.#options.metrics !== false) {
      response.setHeader("content-type", "text/plain; version=0.0.4");
      response.end(metrics.text(this.model, this.#load));
    } else if (Object.hasOwn(info, path)) send(response, 200, info[path]);
    else send(response, 404, this.#error(404, "Not Found"));
  }

  get #load(): FakeLoad {
    const { kvUsed, generatedTokens } = this;
    return { running: this.#slots.running, waiting: this.#slots.waiting, kvUsed, generatedTokens };
  }

  async #post(seen: SeenRequest, response: ServerResponse, signal: AbortSignal): Promise<void> {
    this.maxInFlight = Math.max(this.maxInFlight, ++this.inFlight);
    for (const [name, value] of Object.entries(this.answerHeaders)) response.setHeader(name, value);
    try {
      const wrong = this.script(seen);
      const asked = readAsked(seen.path, seen.body);
      if (wrong !== null) await this.#misbehaveAtOnce(wrong, asked, response, signal);
      const refusal = this.#refusal(seen, asked);
      if (refusal !== null) send(response, ...refusal);
      else if (this.#slots.full) this.#overload(asked.stream, response);
      else await this.#compute(seen, asked, wrong, response, signal);
    } finally {
      this.inFlight--;
    }
  }

  /** Misbehaviour that needs no answer. */
  async #misbehaveAtOnce(wrong: Misbehaviour, { stream }: Asked, response: ServerResponse, signal: AbortSignal) {
    if (wrong.kind === "slow headers") await wait(wrong.ms, undefined, { signal });
    if (wrong.kind === "stall" && wrong.after === "headers") await aborted(signal);
    if (wrong.kind === "reset" && wrong.after === "headers") response.socket?.resetAndDestroy();
    if (wrong.kind === "redirect") send(response, 307, {}, { location: wrong.to });
    if (wrong.kind === "not json") send(response, 200, "<html>Welcome</html>");
    if (wrong.kind === "overloaded") this.#overload(stream, response, wrong.headers);
    if (wrong.kind === "status") {
      send(response, wrong.status, wrong.body ?? this.#error(wrong.status, "Told to fail."), wrong.headers);
    }
    if (response.writableEnded || response.socket?.destroyed) throw new Ended();
  }

  #refusal(seen: SeenRequest, asked: Asked): [number, unknown] | null {
    if (!this.healthy) return [503, this.#error(503, "Loading model")];
    if (!this.listed) return [404, this.#error(404, `The model \`${this.model}\` does not exist.`, "model_not_found")];
    const { rerank, tokenize } = this.#dialect;
    const template = this.kind === "llama-server" ? "/apply-template" : null;
    if (![...GENERATED, "/v1/embeddings", rerank, tokenize?.path, template].includes(seen.path)) {
      return [404, this.#error(404, "Not Found")];
    }
    return refusalOf(seen, asked, this.model, this.#dialect, this.#options);
  }

  async #compute(
    seen: SeenRequest,
    asked: Asked,
    wrong: Misbehaviour | null,
    response: ServerResponse,
    signal: AbortSignal,
  ): Promise<void> {
    const { priority, prefillMs = 0, stepMs = 0 } = this.#options;
    const writer = new EventWriter(response, wrong, signal);
    const step = async () => {
      await (stepMs > 0 ? wait(stepMs, undefined, { signal }) : immediate(undefined, { signal }));
      this.generatedTokens++;
      seen.tokens++;
    };
    const rank = this.kind === "sglang" ? -asked.priority : asked.priority;
    await this.#slots.enter(priority === true ? rank : 0, signal);
    try {
      await wait(prefillMs, undefined, { signal });
      if (GENERATED.includes(seen.path)) await writeAnswer(this.#view(asked, wrong), { response, writer, wrong, step });
      else await writeJson(this.#sideBody(seen, wrong), { response, writer });
    } finally {
      this.#slots.leave();
    }
  }

  #view(asked: Asked, wrong: Misbehaviour | null): AnswerView {
    const answer = answerOf(asked, this.#dialect.reasoning !== null);
    const usage = {
      prompt_tokens: answer.promptTokens,
      completion_tokens: answer.completionTokens,
      total_tokens: answer.promptTokens + answer.completionTokens,
      ...this.#dialect.usageDetails(this.#options.cachedTokens ?? null, answer.reasoningTokens),
    };
    const id = `${asked.chat ? "chatcmpl" : "cmpl"}-${this.requests.length}`;
    const model = wrong?.kind === "wrong model" ? wrong.id : this.model;
    return { asked, answer, dialect: this.#dialect, id, model, usages: usagesOf(usage, wrong) };
  }

  /** The answer of a path that generates nothing. */
  #sideBody({ path, body }: SeenRequest, wrong: Misbehaviour | null): unknown {
    if (path === "/v1/embeddings") return embeddingsBody(body, this.model, wrong);
    if (path === this.#dialect.rerank) return rerankBody(this.kind, body, this.model);
    if (path === "/apply-template") return { prompt: textOf(fieldsOf(body).messages) };
    return tokenizeBody(this.#dialect, body, this.#options.context ?? DEFAULT_CONTEXT);
  }

  #overload(stream: boolean, response: ServerResponse, headers: Record<string, string> = {}): void {
    const { status, body, inStream } = this.#dialect.overloaded;
    if (!inStream || !stream) send(response, status, body, headers);
    else response.writeHead(200, { "content-type": "text/event-stream" }).end(`data: ${JSON.stringify(body)}\n\n`);
  }

  #error(status: number, message: string, code: string | null = null): unknown {
    return this.#dialect.error(status, message, code);
  }
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  const text = Buffer.concat(parts).toString();
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  const isText = typeof body === "string";
  response.writeHead(status, { "content-type": isText ? "text/html" : "application/json", ...headers });
  response.end(isText ? body : JSON.stringify(body));
}
