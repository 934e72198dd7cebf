import type { LookupAddress } from "node:dns";
import * as http from "node:http";
import * as https from "node:https";
import type { LookupFunction } from "node:net";

/** Bytes of a response that are read and discarded before the connection is closed. */
const ANSWER_LIMIT = 64 * 1024;

export interface Post {
  url: URL;
  /** Checked addresses of its host; no other is connected to. */
  addresses: readonly LookupAddress[];
  headers: Record<string, string>;
  body: string;
  signal: AbortSignal;
}

/**
 * Sends one POST over its own connection. Resolves with the status once the response has ended, is too long or breaks
 * off, as only the status matters. Follows no redirect. Rejects without a response, and when `signal` aborts before it.
 * The certificate is checked against the URL's host name.
 */
export function post({ url, addresses, headers, body, signal }: Post): Promise<number> {
  return new Promise((resolve, reject) => {
    let status: number | null = null;
    const { request: open } = url.protocol === "https:" ? https : http;
    const request = open(url, {
      method: "POST",
      agent: false,
      lookup: pinned(addresses),
      signal,
      headers: {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
        "user-agent": "Nightshift",
        ...headers,
      },
    });
    request.on("error", (error) => (status === null ? reject(error) : resolve(status)));
    request.on("response", (response) => {
      const answered = response.statusCode ?? 0;
      status = answered;
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > ANSWER_LIMIT) response.destroy();
      });
      response.on("error", () => {});
      response.on("close", () => resolve(answered));
    });
    request.end(body);
  });
}

/** Replaces the DNS lookup by the checked addresses. */
function pinned(addresses: readonly LookupAddress[]): LookupFunction {
  return (_host, options, callback) => {
    if (options.all) return callback(null, [...addresses]);
    const [first] = addresses;
    callback(null, first!.address, first!.family);
  };
}
