import { OptionsError } from "../options/options-error.ts";
import { type Hub, hubUrl } from "./hub.ts";
import type { ModelValue } from "./model-value.ts";

const TIMEOUT_MS = 20_000;

/** What a server says of a file before it sends it; null where it does not say. */
export interface Announcement {
  bytes: number | null;
  /** Hex. The hub says it of all files that it stores apart from git, which large ones are. */
  sha256: string | null;
}

/**
 * Asks the server for a file's size and hash before the download. The downloader itself
 * tries for many minutes to reach a server that is not there: this says at once that it is not, or has no such file.
 */
export async function announcementOf(
  model: Extract<ModelValue, { kind: "remote" }>,
  hub: Hub,
  signal: AbortSignal,
): Promise<Announcement> {
  const url = model.hub === null ? model.uri : hubUrl(hub, model.hub);
  // The hub resolves a quantization to a file by a request of its own, which fails as fast as this one would.
  if (url === null) return { bytes: null, sha256: null };
  const headers: Record<string, string> = { "accept-encoding": "identity" };
  if (model.hub !== null && hub.token !== null) headers.authorization = `Bearer ${hub.token}`;
  let response: Response;
  try {
    // The hub tells the size in its redirect to the storage, so the redirect is not followed.
    response = await fetch(url, {
      method: "HEAD",
      headers,
      redirect: "manual",
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
  } catch (error) {
    signal.throwIfAborted();
    throw new OptionsError(
      `${model.uri} cannot be downloaded: ${new URL(url).host} cannot be reached (${causeOf(error)}).`,
    );
  }
  const { status } = response;
  if (status === 404 || status === 410) throw notFound(model);
  if (model.hub !== null && (status === 401 || status === 403)) throw closed(model.uri, hub);
  const linked = response.headers.get("x-linked-size");
  const own = response.ok && !response.headers.get("content-type")?.startsWith("text/html");
  const size = Number(linked ?? (own ? response.headers.get("content-length") : null));
  const hash = /^"([0-9a-f]{64})"$/.exec(response.headers.get("x-linked-etag") ?? "")?.[1];
  return { bytes: Number.isSafeInteger(size) && size > 0 ? size : null, sha256: hash ?? null };
}

export function notFound(model: Extract<ModelValue, { kind: "remote" }>): OptionsError {
  const where = model.hub === null ? "the server has no such file" : "the hub has no such repository or file";
  return new OptionsError(`${model.uri} cannot be downloaded: ${where}. Check how it is spelled.`);
}

export function closed(uri: string, hub: Hub): OptionsError {
  const what =
    hub.token === null
      ? "If it exists, it is private or gated: set HF_TOKEN to a token that may read it."
      : "HF_TOKEN may not read it: accept the model's terms on its page, or use another token.";
  return new OptionsError(`${uri} cannot be downloaded: the hub does not show it. ${what}`);
}

function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof Error) return "code" in cause && cause.code ? String(cause.code) : cause.message;
  return error.message;
}
