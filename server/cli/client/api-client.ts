import { randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { z } from "zod";
import { OptionsError } from "../../../platform/options-error.ts";
import { DEFAULT_URL } from "./server-url.ts";

/** The server refused the request, or did not answer (status null). It is printed as its message, like each OptionsError. */
export class ApiFailure extends OptionsError {
  readonly status: number | null;
  readonly code: string | null;

  constructor(status: number | null, code: string | null, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Ctrl-C was pressed before the server had answered. */
export class Interrupted extends OptionsError {
  constructor() {
    super("Interrupted.");
  }
}

/** One file of a form, or a slice of it. */
export interface FormUpload {
  /** `file` or `data`. */
  field: string;
  path: string;
  filename: string;
  start: number;
  bytes: number;
}

const errorBody = z.object({ error: z.object({ message: z.string(), code: z.string().nullable() }) });

/** Milliseconds until a request without an answer fails. Validation and erasure run after their answers. */
const ANSWER_TIMEOUT_MS = 60_000;

/** The HTTP client of the commands. */
export class ApiClient {
  readonly #base: URL;
  readonly #key: string | null;
  readonly #env: Readonly<Record<string, string | undefined>>;
  readonly #interrupted: AbortSignal | null;

  /**
   * @param url the value of --url; by default NIGHTSHIFT_URL, else this machine
   * @param env has the API key too; the administrator's key is used without another one
   * @param interrupted ends requests and uploads with Interrupted
   * @throws OptionsError for a value that is not an http(s) URL
   */
  constructor(
    url: string | undefined,
    env: Readonly<Record<string, string | undefined>>,
    interrupted: AbortSignal | null = null,
  ) {
    this.#base = baseUrl(url || env.NIGHTSHIFT_URL || DEFAULT_URL);
    this.#key = env.NIGHTSHIFT_API_KEY || env.NIGHTSHIFT_ADMIN_KEY || env.OPENAI_API_KEY || null;
    this.#env = env;
    this.#interrupted = interrupted;
  }

  /** The same client, for requests that Ctrl-C must not interrupt. */
  lasting(): ApiClient {
    return new ApiClient(this.#base.href, this.#env);
  }

  /** `path` has no leading slash: `files?limit=2`. Throws ApiFailure. */
  async call<Schema extends z.ZodType>(
    method: "GET" | "POST" | "PATCH" | "DELETE",
    path: string,
    schema: Schema,
    body?: object,
    headers: Record<string, string> = {},
  ): Promise<z.infer<Schema>> {
    const response = await this.#fetch(method, path, {
      headers: { ...this.#headers(), ...headers, ...(body && { "content-type": "application/json" }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    return this.#parse(await response.text(), schema);
  }

  /** A response with an unread body. Throws ApiFailure. */
  download(path: string): Promise<Response> {
    return this.#fetch("GET", path, { headers: this.#headers() });
  }

  /** The body of an answer that is streamed; its first byte may be late, behind other requests. Throws ApiFailure. */
  async stream(path: string, body: object): Promise<ReadableStream<Uint8Array>> {
    const headers = { ...this.#headers(), "content-type": "application/json" };
    const response = await this.#fetch("POST", path, { headers, body: JSON.stringify(body) }, null);
    return response.body ?? new ReadableStream();
  }

  /**
   * Posts a form with one file, which is read while it is sent. fetch would send no Content-Length, by which the server can
   * refuse the form before its body. Throws ApiFailure.
   */
  async upload<Schema extends z.ZodType>(
    path: string,
    schema: Schema,
    fields: Readonly<Record<string, string>>,
    file: FormUpload,
    sent: (bytes: number) => void,
  ): Promise<z.infer<Schema>> {
    const boundary = `nightshift-${randomBytes(16).toString("hex")}`;
    const part = (head: string) => `--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n`;
    const start = Buffer.from(
      [
        ...Object.entries(fields).map(([name, value]) => `${part(`name="${name}"`)}\r\n${value}\r\n`),
        part(`name="${file.field}"; ${named(file.filename)}`),
        "Content-Type: application/octet-stream\r\n\r\n",
      ].join(""),
    );
    const end = Buffer.from(`\r\n--${boundary}--\r\n`);
    async function* body() {
      yield start;
      let done = 0;
      if (file.bytes > 0) {
        for await (const chunk of createReadStream(file.path, {
          start: file.start,
          end: file.start + file.bytes - 1,
        })) {
          yield chunk;
          done += chunk.length;
          sent(done);
        }
      }
      yield end;
    }

    const url = new URL(path, this.#base);
    const outgoing = (url.protocol === "https:" ? httpsRequest : httpRequest)(url, {
      method: "POST",
      headers: {
        ...this.#headers(),
        "content-type": `multipart/form-data; boundary=${boundary}`,
        "content-length": start.length + file.bytes + end.length,
      },
      ...(this.#interrupted && { signal: this.#interrupted }),
    });
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once("response", resolve);
      outgoing.on("error", reject);
    });
    const sending = pipeline(body, outgoing);
    // The server may refuse before all is sent; the broken connection is then no error of its own.
    sending.catch((error: Error) => outgoing.destroy(error));
    let response: IncomingMessage;
    try {
      response = await answered;
    } catch (error) {
      throw this.#unreachable(error);
    }
    const answer = await text(response);
    const status = response.statusCode ?? 0;
    if (status >= 300) {
      outgoing.destroy();
      throw this.#refusal(status, answer);
    }
    await sending;
    return this.#parse(answer, schema);
  }

  /** @param timeoutMs null: the answer may take any time */
  async #fetch(
    method: string,
    path: string,
    init: RequestInit,
    timeoutMs: number | null = ANSWER_TIMEOUT_MS,
  ): Promise<Response> {
    let response: Response;
    // Referenced until the answer arrives: a signal that only AbortSignal.any refers to may be collected.
    const silence = new AbortController();
    const fail = () => silence.abort(new Error("no answer within a minute"));
    const timer = timeoutMs === null ? undefined : setTimeout(fail, timeoutMs);
    const signals = [silence.signal, ...(this.#interrupted ? [this.#interrupted] : [])];
    try {
      response = await fetch(new URL(path, this.#base), { method, signal: AbortSignal.any(signals), ...init });
    } catch (error) {
      throw this.#unreachable(error);
    } finally {
      clearTimeout(timer);
    }
    if (!response.ok) throw this.#refusal(response.status, await response.text());
    return response;
  }

  #headers(): Record<string, string> {
    return this.#key === null ? {} : { authorization: `Bearer ${this.#key}` };
  }

  #parse<Schema extends z.ZodType>(answer: string, schema: Schema): z.infer<Schema> {
    try {
      return schema.parse(JSON.parse(answer));
    } catch {
      throw new ApiFailure(null, null, `The answer of ${this.#base.href} is not one of this version of Nightshift.`);
    }
  }

  #refusal(status: number, answer: string): ApiFailure {
    try {
      const { error } = errorBody.parse(JSON.parse(answer));
      // The server's message names a header, which a user of the command line cannot set.
      const missing = status === 401 && this.#key === null;
      const message = missing
        ? "The server requires an API key: set NIGHTSHIFT_API_KEY, or NIGHTSHIFT_ADMIN_KEY for an administrator's."
        : error.message;
      return new ApiFailure(status, error.code, message);
    } catch {
      return new ApiFailure(status, null, `The server answered with status ${status}.`);
    }
  }

  #unreachable(error: unknown): OptionsError {
    if (this.#interrupted?.aborted) return new Interrupted();
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const reason = cause instanceof Error ? ("code" in cause ? cause.code : cause.message) : cause;
    const message = `No server answers at ${this.#base.href} (${reason}). Is it running? --url names another.`;
    return new ApiFailure(null, null, message);
  }
}

function baseUrl(written: string): URL {
  const url = URL.canParse(written) ? new URL(written) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new OptionsError(`The server's URL must be like ${DEFAULT_URL}; it is ${JSON.stringify(written)}.`);
  }
  if (url.pathname === "/") url.pathname = "/v1";
  if (!url.pathname.endsWith("/")) url.pathname += "/";
  return url;
}

/**
 * The form of RFC 5987 beside a plain name. The form of browsers (`%22` for a quote) is ambiguous for a name that contains
 * `%22`, and has no control characters.
 */
function named(filename: string): string {
  if (/^[\w .-]+$/.test(filename)) return `filename="${filename}"`;
  const encoded = encodeURIComponent(filename).replace(/['()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16)}`);
  return `filename="file"; filename*=UTF-8''${encoded}`;
}
