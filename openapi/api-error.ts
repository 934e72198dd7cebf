/** The `type` values that OpenAI's clients know. */
export type ErrorType =
  | "invalid_request_error"
  | "authentication_error"
  | "permission_error"
  | "not_found_error"
  | "rate_limit_error"
  | "insufficient_quota"
  | "server_error";

export interface ErrorBody {
  error: { message: string; type: ErrorType; param: string | null; code: string | null };
}

export interface ApiErrorInit {
  status: number;
  type: ErrorType;
  /** A machine-readable reason; a string or null, never a number. */
  code: string | null;
  /** The field at fault, as a path into the body (`messages[0].content`), or null. */
  param?: string | null;
  message: string;
  /** Seconds until a retry makes sense; becomes `Retry-After`. */
  retryAfter?: number;
  /** False tells the SDK not to retry a status that it would retry by itself (`x-should-retry: false`). */
  shouldRetry?: false;
}

/**
 * The one error that may be thrown anywhere on the way of a request; the server maps it to HTTP in one place. It has no
 * stack: nobody reads one, and to take it would be a tenth of what a refusal costs.
 */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly type: ErrorType;
  readonly code: string | null;
  readonly param: string | null;
  readonly retryAfter: number | undefined;
  readonly shouldRetry: false | undefined;

  constructor(init: ApiErrorInit) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(init.message);
    Error.stackTraceLimit = stackTraceLimit;
    this.status = init.status;
    this.type = init.type;
    this.code = init.code;
    this.param = init.param ?? null;
    this.retryAfter = init.retryAfter;
    this.shouldRetry = init.shouldRetry;
  }

  /** All four keys always: clients read them without looking. */
  get body(): ErrorBody {
    return { error: { message: this.message, type: this.type, param: this.param, code: this.code } };
  }
}

export function invalidRequest(code: string | null, param: string | null, message: string): ApiError {
  return new ApiError({ status: 400, type: "invalid_request_error", code, param, message });
}

export function unavailable(code: string, message: string, retryAfter: number): ApiError {
  return new ApiError({ status: 503, type: "server_error", code, message, retryAfter });
}

export function unsupportedMedia(code: string, message: string): ApiError {
  return new ApiError({ status: 415, type: "invalid_request_error", code, message });
}
