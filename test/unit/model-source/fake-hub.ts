import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export interface HubRequest {
  method: string;
  path: string;
  range: string | null;
  authorization: string | null;
}

/** Enough of Hugging Face: manifests of quantizations, resolve URLs that redirect to a storage, Range requests. */
export class FakeHub {
  readonly requests: HubRequest[] = [];
  readonly files = new Map<string, Buffer>();
  readonly manifests = new Map<string, string>();
  /** Overrides what the redirect announces. */
  linkedSize: number | null = null;
  /** What it says that the file's SHA-256 is. */
  linkedHash: string | null = null;
  /** Asked for each part of a file; true: handled here. */
  intercept: (range: string | null, response: ServerResponse) => boolean = () => false;
  token: string | null = null;
  endpoint = "";

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

  ranges(): string[] {
    return this.requests.flatMap(({ range }) => (range === null ? [] : [range]));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = decodeURIComponent(new URL(request.url ?? "/", "http://hub").pathname);
    const range = request.headers.range ?? null;
    const authorization = request.headers.authorization ?? null;
    this.requests.push({ method: request.method ?? "", path, range, authorization });
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
      if (request.method !== "GET" || range === null || !this.intercept(range, response))
        serve(file, range, request, response);
    } else {
      if (this.linkedHash !== null) response.setHeader("x-linked-etag", `"${this.linkedHash}"`);
      response.writeHead(302, { location: `/storage${path}`, "x-linked-size": String(this.linkedSize ?? file.length) });
      response.end();
    }
  }
}

function serve(file: Buffer, range: string | null, request: IncomingMessage, response: ServerResponse): void {
  const match = /^bytes=(\d+)-(\d+)$/.exec(range ?? "");
  const from = match === null ? 0 : Number(match[1]);
  const to = match === null ? file.length - 1 : Math.min(Number(match[2]), file.length - 1);
  const headers = { "accept-ranges": "bytes", "content-length": String(to - from + 1) };
  const partial = { ...headers, "content-range": `bytes ${from}-${to}/${file.length}` };
  response.writeHead(match === null ? 200 : 206, match === null ? headers : partial);
  response.end(request.method === "HEAD" ? undefined : file.subarray(from, to + 1));
}

/** Bytes that begin like a model and differ everywhere, so that a part at the wrong place is seen. */
export function fakeGguf(bytes: number, seed = 1): Buffer {
  const file = Buffer.alloc(bytes);
  for (let i = 0; i + 4 <= bytes; i += 4) file.writeUInt32LE((i * seed) >>> 0, i);
  file.write("GGUF");
  return file;
}
