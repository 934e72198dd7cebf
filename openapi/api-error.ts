import {
  type BadRequestKey,
  ERRORS,
  type ErrorEntry,
  type ErrorKey,
  type ErrorType,
  type UnavailableKey,
} from "./errors.ts";

interface ErrorBody {
  error: { message: string; type: ErrorType; param: string | null; code: string | null };
}

/** The size of a prompt that is too long, in tokens. */
export interface PromptExcess {
  /** Counted, or estimated for a prompt that is too long to be counted. */
  tokens: number;
  /** Most tokens of a prompt. */
  most: number;
}

interface ErrorDetails {
  /** The field at fault, as a path into the body (`messages[0].content`), or null. */
  param?: string | null;
  /** Seconds until a retry makes sense; becomes `Retry-After`. Default for what may be sent again later: 1. */
  retryAfter?: number;
  /** False keeps SDKs from a retry (`x-should-retry: false`). Default: as the catalogue says. */
  shouldRetry?: false;
  /** A stored code, for entries of the catalogue that have none of their own. */
  code?: string;
  /** For prompts that are too long: some clients shorten them by the difference. */
  excess?: PromptExcess;
}

const RETRY_SECONDS = 1;

/**
 * The one error that may be thrown while a request is handled; the server maps it to HTTP in one place. Status, type and
 * code come from the catalogue (errors.ts). It has no stack: taking one would be a tenth of what a refusal costs.
 */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly key: ErrorKey;
  readonly status: number;
  readonly type: ErrorType;
  readonly code: string | null;
  readonly param: string | null;
  readonly retryAfter: number | undefined;
  readonly shouldRetry: false | undefined;
  readonly excess: PromptExcess | undefined;

  constructor(key: ErrorKey, message: string, details: ErrorDetails = {}) {
    const { param = null, retryAfter, shouldRetry, code, excess } = details;
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
    const entry: ErrorEntry = ERRORS[key];
    this.key = key;
    this.status = entry.status;
    this.type = entry.type;
    this.code = code ?? entry.code;
    this.param = param;
    this.retryAfter = retryAfter ?? (entry.retry === "later" ? RETRY_SECONDS : undefined);
    this.shouldRetry = shouldRetry ?? retryHint(entry, retryAfter);
    this.excess = excess;
  }

  /** The same error of another field. */
  withParam(param: string): ApiError {
    const { key, message, code, retryAfter, shouldRetry, excess } = this;
    return new ApiError(key, message, {
      param,
      ...(code !== null && { code }),
      ...(retryAfter !== undefined && { retryAfter }),
      ...(shouldRetry !== undefined && { shouldRetry }),
      ...(excess !== undefined && { excess }),
    });
  }

  /** All four keys always: clients read them without looking. */
  get body(): ErrorBody {
    return { error: { message: this.message, type: this.type, param: this.param, code: this.code } };
  }
}

export function invalidRequest(key: BadRequestKey, param: string | null, message: string): ApiError {
  return new ApiError(key, message, { param });
}

export function unavailable(key: UnavailableKey, message: string, retryAfter: number): ApiError {
  return new ApiError(key, message, { retryAfter });
}

function retryHint({ status, retry }: ErrorEntry, retryAfter: number | undefined): false | undefined {
  const inVain = retry === "no" || (retry === "later or no" && retryAfter === undefined);
  return inVain && sdkRetries(status) ? false : undefined;
}

/** The statuses that OpenAI's SDKs retry by themselves. */
function sdkRetries(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500;
}
