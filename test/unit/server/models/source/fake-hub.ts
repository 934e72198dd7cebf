import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import type { Duplex } from "node:stream";
import { onTestFinished } from "vitest";

export interface HubRequest {
  method: string;
  path: string;
  range: string | null;
  condition: string | null;
  authorization: string | null;
}

/** Enough of Hugging Face: manifests of quantizations, resolve URLs that redirect to a storage, Range requests. */
export class FakeHub {
  readonly requests: HubRequest[] = [];
  readonly files = new Map<string, Buffer>();
  readonly manifests = new Map<string, string>();
  /** SHA-256 that it announces for a file, by path; null for none. */
  linkedHash: (path: string) => string | null = () => null;
  /** Whether the storage sends an ETag, and parts of files. */
  etags = true;
  parts = true;
  /** Asked for each part of a file but the first byte alone; true: handled here. */
  intercept: (range: string | null, response: ServerResponse) => boolean = () => false;
  token: string | null = null;
  endpoint = "";
  /** Target of a redirected path. */
  readonly redirects = new Map<string, string>();
  /** Answers 500, or nothing. */
  broken = false;
  silent = false;
  /** The origin of the storage, where it is not the hub's. */
  storage = "";

  static async start(): Promise<FakeHub> {
    const hub = new FakeHub();
    const server = createServer((request, response) => hub.#answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    hub.endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return hub;
  }

  /** A proxy that tunnels (CONNECT) and notes where to. */
  static async startProxy(): Promise<{ url: string; hosts: string[] }> {
    const hosts: string[] = [];
    const sockets = new Set<Duplex>();
    const server = createServer().on("connect", ({ url = "" }, client) => {
      hosts.push(url);
      const target = connect(Number(new URL(`http://${url}`).port), "127.0.0.1", () => {
        client.write("HTTP/1.1 200 Connection established\r\n\r\n");
        target.pipe(client).pipe(target);
      });
      for (const socket of [client, target]) sockets.add(socket.on("error", () => {}));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, hosts };
  }

  /** The parts of files that the storage was asked for, without the first byte alone. */
  ranges(): string[] {
    const parts = this.requests.filter(({ path, range }) => path.startsWith("/storage") && range !== "bytes=0-0");
    return parts.flatMap(({ range }) => (range === null ? [] : [range]));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = decodeURIComponent(new URL(request.url ?? "/", "http://hub").pathname);
    const range = request.headers.range ?? null;
    const authorization = request.headers.authorization ?? null;
    const condition = String(request.headers["if-range"] ?? "") || null;
    this.requests.push({ method: request.method ?? "", path, range, condition, authorization });
    if (this.silent) return;
    if (this.broken) {
      response.writeHead(500).end();
      return;
    }
    const location = this.redirects.get(path);
    if (location !== undefined) {
      response.writeHead(302, { location }).end();
      return;
    }
    if (this.token !== null && !path.startsWith("/storage") && authorization !== `Bearer ${this.token}`) {
      response.writeHead(401).end();
      return;
    }
    const manifest = this.manifests.get(path);
    if (manifest !== undefined) {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ ggufFile: { rfilename: manifest } }));
      return;
    }
    const file = this.files.get(path.replace("/storage", ""));
    if (file === undefined) {
      response.writeHead(404).end();
    } else if (path.startsWith("/storage")) {
      if (range === "bytes=0-0" || !this.intercept(range, response)) this.#serve(file, request, response);
    } else {
      const hash = this.linkedHash(path);
      if (hash !== null) response.setHeader("x-linked-etag", `"${hash}"`);
      response.writeHead(302, { location: `${this.storage}/storage${path}`, "x-linked-size": String(file.length) });
      response.end();
    }
  }

  #serve(file: Buffer, request: IncomingMessage, response: ServerResponse): void {
    const { range, "if-range": condition } = request.headers;
    const etag = etagOf(file);
    const match = this.parts && (condition === undefined || condition === etag) ? RANGE.exec(range ?? "") : null;
    const from = match === null ? 0 : Number(match[1]);
    const to = match === null ? file.length - 1 : Math.min(Number(match[2]), file.length - 1);
    if (this.etags) response.setHeader("etag", etag);
    response.setHeader("content-length", to - from + 1);
    if (match !== null) response.setHeader("content-range", `bytes ${from}-${to}/${file.length}`);
    response.writeHead(match === null ? 200 : 206);
    response.end(file.subarray(from, to + 1));
  }
}

const RANGE = /^bytes=(\d+)-(\d+)$/;

export function etagOf(file: Buffer): string {
  return `"${createHash("sha1").update(file).digest("hex")}"`;
}

/** Bytes that begin like a model and differ everywhere, so that a part at the wrong place is seen. */
export function fakeGguf(bytes: number, seed = 1): Buffer {
  const file = Buffer.alloc(bytes);
  for (let i = 0; i + 4 <= bytes; i += 4) file.writeUInt32LE((i * seed) >>> 0, i);
  file.write("GGUF");
  return file;
}
