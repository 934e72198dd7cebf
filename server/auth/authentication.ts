import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import type { Request, RequestHandler } from "express";
import { type Caller, LOCAL_OWNER } from "../../ledger/key.ts";
import type { KeyRing } from "../../ledger/key-ring.ts";
import { ApiError, unavailable } from "../../openapi/api-error.ts";
import type { Log } from "../../platform/log.ts";
import { StoreError } from "../../store/types/store-error.ts";
import { ClientGone } from "../http/connection/client-gone.ts";
import { setCaller } from "../http/context/caller.ts";
import { contextOf } from "../http/context/request-context.ts";
import type { AuthenticationMetrics } from "../metrics/authentication-metrics.ts";
import type { WrongKeyLimiter } from "./wrong-key-limiter.ts";

export interface AuthenticationDeps {
  keys: Pick<KeyRing, "authenticate">;
  limiter: WrongKeyLimiter;
  metrics: Pick<AuthenticationMetrics, "refused">;
  log: Log;
}

const MOST_CHARACTERS = 1024;
/** Seconds of Retry-After while the store cannot check keys. */
const RETRY_AFTER = 5;

const LOCAL_CALLER: Caller = { owner: LOCAL_OWNER, key: null };

/** While API keys are off, every request belongs to the one local owner. */
export const withoutKeys: RequestHandler = (req, _res, next) => {
  setCaller(req, LOCAL_CALLER);
  next();
};

/**
 * Requires an API key on every path but the open ones. Paths are compared literally: a spelling that only the router takes
 * for an open path needs a key. Runs before the body is read. Throws 401, 429 when an address sent too many wrong keys, and
 * 503 when the store cannot check the key.
 */
export function authentication(
  { keys, limiter, metrics, log }: AuthenticationDeps,
  open: ReadonlySet<string>,
): RequestHandler {
  return async (req, res, next) => {
    if (open.has(req.path)) return next();
    const address = addressOf(req);
    try {
      const secrets = secretsOf(req);
      const waitMs = limiter.waitMs(address);
      if (waitMs > 0 && !limiter.hasKeys(address)) throw tooManyFailures(waitMs);
      const key = await firstKey(keys, secrets);
      if (waitMs > 0 && (key === null || !limiter.hadKey(address, key.id))) throw tooManyFailures(waitMs);
      if (key === null) {
        limiter.failed(address);
        throw unauthorized("Incorrect API key: it is unknown, revoked or expired.");
      }
      limiter.accepted(address, key.id);
      if (res.destroyed || req.socket.destroyed) throw new ClientGone();
      setCaller(req, { owner: key.owner, key });
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) res.setHeader("www-authenticate", "Bearer");
      if (error instanceof ApiError) metrics.refused(error.status === 429 ? 429 : 401);
      if (!(error instanceof StoreError)) throw error;
      metrics.refused(503);
      log.error({ requestId: contextOf(req).id, code: error.code, reason: error.message }, "A key cannot be checked");
      throw unavailable("store_unavailable", "API keys can't be checked at the moment; try again.", RETRY_AFTER);
    }
    next();
  };
}

/** Clients of Anthropic's API may send a key of another service in one of the headers. */
async function firstKey(
  keys: AuthenticationDeps["keys"],
  secrets: readonly string[],
): ReturnType<AuthenticationDeps["keys"]["authenticate"]> {
  for (const secret of secrets) {
    const key = await keys.authenticate(secret);
    if (key !== null) return key;
  }
  return null;
}

/** The secrets of `Authorization` and `x-api-key`. Throws 401 with a message that repeats nothing of them. */
function secretsOf(req: IncomingMessage): string[] {
  const bearer = only(req, "authorization");
  const secret = only(req, "x-api-key");
  if (bearer === null && secret === null) {
    throw unauthorized("Missing API key: send it in the header Authorization: Bearer <key>, or in x-api-key: <key>.");
  }
  const sent = bearer === null ? "" : (/^Bearer +(\S.*)$/i.exec(bearer)?.[1] ?? "");
  return [
    ...(bearer === null ? [] : [checked(sent, "Authorization: Bearer <key>")]),
    ...(secret === null ? [] : [checked(secret, "x-api-key: <key>")]),
  ];
}

/** The value of the header; null where there is none. Throws 401 for several. */
function only(req: IncomingMessage, header: "authorization" | "x-api-key"): string | null {
  const given = req.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === header);
  // Node keeps the first of several or joins them, while a proxy in front may have checked the last.
  if (given.length > 1) throw unauthorized(`Incorrect API key: there is more than one ${header} header.`);
  const value = req.headers[header];
  return typeof value === "string" ? value : null;
}

function checked(secret: string, form: string): string {
  if (secret === "" || secret.length > MOST_CHARACTERS) {
    throw unauthorized(`Incorrect API key: the header must be ${form}.`);
  }
  // Node decodes headers as latin1.
  return Buffer.from(secret, "latin1").toString();
}

/** The client's address, from trusted proxies where there are any. */
function addressOf(req: Request): string {
  const forwarded = req.ip ?? "";
  return isIP(forwarded) === 0 ? (req.socket.remoteAddress ?? "") : forwarded;
}

function unauthorized(message: string): ApiError {
  return new ApiError("invalid_api_key", message);
}

function tooManyFailures(waitMs: number): ApiError {
  const message = "Too many wrong API keys came from this address; try again later.";
  const code = "rate_limit_exceeded";
  // The key was not checked. After that time it is, and a wrong key is a 401, which SDKs do not retry.
  const retryAfter = waitMs / 1000;
  return new ApiError(code, message, { retryAfter });
}
