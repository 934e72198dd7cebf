import type { IncomingMessage, ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import busboy, { type Busboy } from "busboy";
import { ApiError, invalidRequest } from "../../../openapi/api-error.ts";
import { liftBodyTime } from "../connection/body-timeout.ts";
import { ClientGone } from "../connection/client-gone.ts";

/** The one file of a form, while it is received. */
export interface FormFile {
  filename: string;
  bytes: Readable;
  /** The fields before the file. */
  fields: ReadonlyMap<string, string>;
}

export interface FormSpec<T> {
  /** The name of the field that holds the file. */
  fileField: string;
  /** Most bytes of the file. For a body that announces more, `tooLarge` is thrown before it is read. */
  maxBytes: number;
  tooLarge: () => ApiError;
  /** May refuse the body before it is read; `bytes` is its announced length, 0 where it names none. */
  admit(bytes: number): Promise<void>;
  /** Consumes the file. Its error ends the request. */
  receive(file: FormFile): Promise<T>;
  /** Undoes `receive` where the rest of the form is invalid. */
  discard(received: T): Promise<void>;
}

export interface Form<T> {
  fields: ReadonlyMap<string, string>;
  received: T;
}

/** Bytes of boundaries, part headers and small fields. */
const OVERHEAD_BYTES = 256 * 1024;
/** Bounds of the parts beside the file; compare CVE-2026-3304 and CVE-2026-5079 of another parser. */
const LIMITS = { files: 1, fields: 32, parts: 33, fieldSize: 4096, fieldNameSize: 256 };
/** The least bytes in each period of milliseconds, 1 kB/s: a slower client would only occupy a connection. */
const WATCH_MS = 30_000;
const WATCH_BYTES = 30_000;

/**
 * Reads a multipart form (RFC 7578) with one file, which streams to `receive` and is never in memory. Throws 400, 408,
 * 413, 415, the errors of `admit` and `receive`, or ClientGone; a received file is discarded then.
 */
export async function readForm<T>(req: IncomingMessage, res: ServerResponse, spec: FormSpec<T>): Promise<Form<T>> {
  const parser = parserOf(req);
  const announced = Number(req.headers["content-length"] ?? 0);
  if (announced > spec.maxBytes + OVERHEAD_BYTES) throw spec.tooLarge();
  await spec.admit(announced);
  if (req.destroyed) throw new ClientGone();
  if (req.headers.expect?.toLowerCase() === "100-continue") {
    res.writeContinue();
    delete req.headers.expect;
  }
  liftBodyTime(req);
  return new FormReading(req, parser, spec).form;
}

function parserOf(req: IncomingMessage): Busboy {
  const { "content-type": type = "", "content-encoding": encoding = "identity" } = req.headers;
  if (encoding.toLowerCase() !== "identity") {
    throw new ApiError("unsupported_encoding", "Compressed forms are not supported.");
  }
  if (!/^multipart\/form-data\s*(;|$)/i.test(type)) {
    throw new ApiError("unsupported_media_type", "The request must be sent with Content-Type: multipart/form-data.");
  }
  try {
    // Clients write file names as UTF-8 (RFC 7578, 5.1); busboy's default is latin1.
    return busboy({ headers: { "content-type": type }, limits: LIMITS, defParamCharset: "utf8" });
  } catch {
    throw malformed("The Content-Type has no boundary.");
  }
}

/** One form while it is received. It ends once: complete, or failed after all of it was undone. */
class FormReading<T> {
  readonly form: Promise<Form<T>>;
  readonly #req: IncomingMessage;
  readonly #parser: Busboy;
  readonly #spec: FormSpec<T>;
  readonly #fields = new Map<string, string>();
  readonly #watch: NodeJS.Timeout;
  #receiving: Promise<T> | null = null;
  #bytes = 0;
  #bytesWatched = 0;
  #over = false;
  #resolve: (form: Form<T>) => void = () => {};
  #reject: (error: unknown) => void = () => {};

  constructor(req: IncomingMessage, parser: Busboy, spec: FormSpec<T>) {
    this.#req = req;
    this.#parser = parser;
    this.#spec = spec;
    this.form = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#watch = setInterval(() => this.#checkRate(), WATCH_MS);
    parser.on("file", (name, bytes, { filename }) => this.#file(name, bytes, filename));
    parser.on("field", (name, value, { valueTruncated }) => this.#field(name, value, valueTruncated));
    parser.on("filesLimit", () => this.#fail(malformed("The form has more than one file.")));
    parser.on("fieldsLimit", () => this.#fail(malformed("The form has too many fields.")));
    parser.on("partsLimit", () => this.#fail(malformed("The form has too many parts.")));
    parser.on("error", () => this.#fail(malformed("The multipart form is malformed or ends early.")));
    parser.on("close", () => this.#parsed());
    req.on("data", this.#count);
    req.once("error", this.#gone);
    req.once("close", this.#gone);
    req.pipe(parser);
  }

  #file(name: string | undefined, bytes: Readable, filename: string | undefined): void {
    // The parser reports the same error. Without a listener here it would be an uncaught exception.
    bytes.on("error", () => {});
    // A destroyed parser still continues to the end of its chunk.
    if (this.#over) {
      bytes.destroy();
      return;
    }
    const { fileField, receive } = this.#spec;
    if (name !== fileField) {
      this.#fail(invalidRequest("invalid_value", fileField, `The file must be in the field '${fileField}'.`));
      return;
    }
    this.#receiving = receive({ filename: filename ?? "", bytes, fields: this.#fields });
    this.#receiving.catch((error: unknown) => this.#fail(error));
  }

  #field(name: string | undefined, value: string, truncated: boolean): void {
    if (name === undefined) return;
    const shown = name.slice(0, 64);
    if (truncated) this.#fail(invalidRequest("invalid_value", shown, `The field '${shown}' is too long.`));
    else if (this.#fields.has(name)) this.#fail(invalidRequest("invalid_value", shown, `'${shown}' is given twice.`));
    else this.#fields.set(name, value);
  }

  readonly #count = (chunk: Buffer) => {
    this.#bytes += chunk.byteLength;
    // A chunked body names no length.
    if (this.#bytes > this.#spec.maxBytes + OVERHEAD_BYTES) this.#fail(this.#spec.tooLarge());
  };

  readonly #gone = () => {
    if (!this.#req.complete) this.#fail(new ClientGone());
  };

  #checkRate(): void {
    // Back-pressure: the client is paused while the disk is slower.
    const waitsForUs = this.#req.readableFlowing === false || this.#req.complete;
    if (!waitsForUs && this.#bytes - this.#bytesWatched < WATCH_BYTES) {
      const message = "The body of the request comes too slowly.";
      this.#fail(new ApiError("request_timeout", message));
    }
    this.#bytesWatched = this.#bytes;
  }

  #parsed(): void {
    if (this.#over) return;
    const { fileField } = this.#spec;
    if (this.#receiving === null) {
      const message = this.#fields.has(fileField)
        ? `'${fileField}' must be a file: its part needs a filename.`
        : `Missing required parameter: '${fileField}'.`;
      this.#fail(invalidRequest("missing_required_parameter", fileField, message));
      return;
    }
    this.#receiving.then(
      (received) => {
        if (this.#over) return;
        this.#end();
        this.#resolve({ fields: this.#fields, received });
      },
      () => {},
    );
  }

  #fail(error: unknown): void {
    if (this.#over) return;
    this.#end();
    this.#req.unpipe(this.#parser);
    // Ends the file's stream too, and with it `receive`.
    this.#parser.destroy(error instanceof Error ? error : undefined);
    const undone = this.#receiving?.then((received) => this.#spec.discard(received)) ?? Promise.resolve();
    undone.catch(() => {}).then(() => this.#reject(error));
  }

  #end(): void {
    this.#over = true;
    clearInterval(this.#watch);
    this.#req.off("data", this.#count);
    this.#req.off("error", this.#gone);
    this.#req.off("close", this.#gone);
    // Errors of the stream after the end of the form are ignored.
    this.#req.on("error", () => {});
  }
}

function malformed(message: string): ApiError {
  return invalidRequest("invalid_form", null, message);
}
