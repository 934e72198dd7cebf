import { readFileSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Failures of the host of a model file. */
const FAULTS = ["500", "silence", "cut", "redirects"] as const;
type Fault = (typeof FAULTS)[number];

/** Serves one model file over HTTP after a number of requests that fail in different ways. */
export class FaultyHub {
  readonly #server: Server;
  readonly #file: Buffer;
  #failures: number;
  #asked = 0;

  /** @param failures how many requests fail before the file is served */
  constructor(path: string, failures: number) {
    this.#file = readFileSync(path);
    this.#failures = failures;
    this.#server = createServer((request, response) => {
      this.#asked++;
      if (this.#failures-- > 0) this.#fail(FAULTS[this.#asked % FAULTS.length]!, response);
      else this.#serve(request.headers.range, request.method === "HEAD", response);
    });
  }

  get asked(): number {
    return this.#asked;
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/remote.gguf`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #fail(fault: Fault, response: ServerResponse): void {
    if (fault === "500") response.writeHead(500).end();
    if (fault === "redirects") response.writeHead(302, { location: "/remote.gguf" }).end();
    if (fault === "cut") {
      response.writeHead(200, { "content-length": this.#file.length });
      response.write(this.#file.subarray(0, 1000), () => response.destroy());
    }
    // "silence": the connection stays open, and nothing is sent.
  }

  #serve(range: string | undefined, head: boolean, response: ServerResponse): void {
    const size = this.#file.length;
    const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(range ?? "") ?? [];
    const from = Number(first ?? 0);
    const to = last ? Math.min(Number(last), size - 1) : size - 1;
    const headers = { "accept-ranges": "bytes", etag: '"1"', "content-length": to - from + 1 };
    if (first === undefined) response.writeHead(200, headers);
    else response.writeHead(206, { ...headers, "content-range": `bytes ${from}-${to}/${size}` });
    response.end(head ? undefined : this.#file.subarray(from, to + 1));
  }
}
