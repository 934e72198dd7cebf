import { OptionsError } from "../../../platform/options-error.ts";
import { type Answer, type HttpClient, HttpFault } from "./http-client.ts";
import type { Hub } from "./hub.ts";
import type { RemoteModel } from "./model-value.ts";

/** Facts of a file from its server, before the download. */
export interface RemoteFile {
  bytes: number;
  /** Hex. The hub has it for files that it stores outside git, such as all large ones. */
  sha256: string | null;
  /** Strong ETag, else Last-Modified: a validator for If-Range (RFC 9110, 13.1.5). Null if the server sends neither. */
  validator: string | null;
  /** True if the server supports range requests. */
  ranges: boolean;
}

/** Requests the first byte, because addresses that are signed for GET do not allow HEAD. */
export async function remoteFileOf(
  model: RemoteModel,
  url: string,
  { hub, web, signal }: { hub: Hub; web: HttpClient; signal: AbortSignal },
): Promise<RemoteFile> {
  const answer = await request(model, url, { range: "bytes=0-0" }, { hub, web, signal });
  answer.body.destroy();
  const linked = model.hub === null ? null : answer.hubHeader("x-linked-etag");
  const bytes = totalOf(answer);
  if (bytes === null) throw cannot(model, `${new URL(url).host} does not say how large the file is`);
  return {
    bytes,
    sha256: /^"([0-9a-f]{64})"$/.exec(linked ?? "")?.[1] ?? null,
    validator: validatorOf(answer),
    ranges: answer.status === 206,
  };
}

/** Throws OptionsError for every status except 200 and 206. */
export async function request(
  model: RemoteModel,
  url: string,
  headers: Record<string, string>,
  { hub, web, signal }: { hub: Hub; web: HttpClient; signal: AbortSignal },
): Promise<Answer> {
  let answer: Answer;
  try {
    answer = await web.get(url, headers, signal);
  } catch (error) {
    if (!(error instanceof HttpFault)) throw error;
    const advice = error.unreachable
      ? " Check the network; behind a proxy, set HTTPS_PROXY. What was downloaded before needs no network."
      : "";
    throw new OptionsError(`${model.uri} cannot be downloaded: ${error.message}.${advice}`);
  }
  if (answer.status === 200 || answer.status === 206) return answer;
  answer.body.destroy();
  const { status } = answer;
  if (status === 404 || status === 410) throw notFound(model);
  if (model.hub !== null && (status === 401 || status === 403)) throw closed(model, hub);
  throw cannot(model, `${new URL(url).host} answers with status ${status}`);
}

export function validatorOf(answer: Answer): string | null {
  const tag = answer.header("etag");
  return tag?.startsWith('"') ? tag : answer.header("last-modified");
}

function totalOf(answer: Answer): number | null {
  const range = /^bytes 0-0\/(\d+)$/.exec(answer.header("content-range") ?? "")?.[1];
  const bytes = Number(answer.status === 206 ? range : answer.header("content-length"));
  return Number.isSafeInteger(bytes) && bytes > 0 ? bytes : null;
}

function cannot(model: RemoteModel, why: string): OptionsError {
  return new OptionsError(`${model.uri} cannot be downloaded: ${why}.`);
}

function notFound(model: RemoteModel): OptionsError {
  const where = model.hub === null ? "the server has no such file" : "the hub has no such repository or file";
  return cannot(model, `${where}. Check how it is spelled`);
}

function closed(model: RemoteModel, hub: Hub): OptionsError {
  const what =
    hub.token === null
      ? "If it exists, it is private or gated: set HF_TOKEN to a token that may read it"
      : "HF_TOKEN may not read it: accept the model's terms on its page, or use another token";
  return cannot(model, `the hub does not show it. ${what}`);
}
