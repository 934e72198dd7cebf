/** The values of `type`; OpenAI's clients know each. */
export const ERROR_TYPES = [
  "invalid_request_error",
  "authentication_error",
  "permission_error",
  "rate_limit_error",
  "insufficient_quota",
  "server_error",
] as const;
export type ErrorType = (typeof ERROR_TYPES)[number];

/**
 * Whether the same request may succeed when it is sent again.
 *
 * | | |
 * |---|---|
 * | no | It fails again. On statuses that SDKs retry by themselves the response has `x-should-retry: false`. |
 * | at once | It may be sent again without waiting. |
 * | later | It may be sent again after `Retry-After`. |
 * | later or no | `Retry-After` where waiting helps, `x-should-retry: false` where it does not. |
 */
export type Retry = "no" | "at once" | "later" | "later or no";

interface ErrorGroup {
  status: number;
  /** Default: `invalid_request_error` below 500, `server_error` from 500 on. */
  type?: ErrorType;
  /** Default: "no". */
  retry?: Retry;
  /** The `code` of the response body. Default: the key of the entry. */
  code?: string | null;
  /** Source of a code that the caller passes: for the table in the documentation. */
  codeFrom?: string;
}

export interface ErrorEntry {
  status: number;
  type: ErrorType;
  retry: Retry;
  code: string | null;
  codeFrom: string | null;
  meaning: string;
}

/** Entries that differ in key and meaning alone. */
function group<Key extends string>(shared: ErrorGroup, meanings: Record<Key, string>): Record<Key, ErrorEntry>;
function group(shared: ErrorGroup, meanings: Record<string, string>): Record<string, ErrorEntry> {
  const { status, retry = "no", codeFrom = null } = shared;
  const type = shared.type ?? (status < 500 ? "invalid_request_error" : "server_error");
  return Object.fromEntries(
    Object.entries(meanings).map(([key, meaning]) => {
      return [key, { status, type, retry, code: shared.code === undefined ? key : shared.code, codeFrom, meaning }];
    }),
  );
}

const BAD_REQUEST = group(
  { status: 400 },
  {
    invalid_json: "The body is not JSON, or exceeds a bound of [limits.md](limits.md) on its containers.",
    invalid_encoding: "The body does not match its `Content-Encoding`.",
    missing_required_parameter: "A required field is missing; `param` names it.",
    invalid_type: "A field has the wrong type; `param` names it.",
    invalid_value: "A field has a value that is not allowed; `param` names it.",
    unsupported_parameter: "The field is known and not supported.",
    unsupported_value:
      "The value is known and not supported. For a JSON schema, `param` is the path of the keyword that cannot be enforced.",
    grammar_dead_end: "The grammar and the request's biases leave no token to draw.",
    context_length_exceeded: "The prompt alone fills the context, or an input is too long.",
    unsupported_model: "The model does not support this endpoint or a suffix, or has no memory left for embeddings.",
    template_error: "The model's chat template fails on these messages.",
    too_many_results: "A page of usage has over 20,000 results. Ask for fewer buckets with `limit`, or group by less.",
    invalid_form: "The multipart form is malformed.",
    invalid_file_format: "The name of a batch file does not end with `.jsonl`.",
    previous_response_not_found:
      "`previous_response_id` names no stored response of the owner: it is unknown, was deleted or was not stored.",
    conversation_locked: "Another response is being added to the conversation. Try again when it has ended.",
    upstream_refused:
      "The upstream that computes the model refuses the request as invalid, or does not support a part of it.",
    upload_not_pending: "The upload is completed, cancelled or expired.",
    invalid_url: "The URL is not valid.",
    malformed_request: "The request is not valid HTTP.",
  },
);

const UNAVAILABLE = group(
  { status: 503, retry: "later" },
  {
    model_loading: "The model is loading, or not in memory.",
    engine_restarting: "The engine of the model is restarting.",
    engine_died: "The engine process ended while it had the request.",
    upstream_unavailable: "No replica of the upstream that computes the model takes the request.",
    embeddings_unavailable: "llama.cpp could not allocate memory for embeddings.",
    server_is_overloaded:
      "`--queue-limit` requests wait, the predicted wait is too long, request bodies fill `--body-memory`, or 512 grammars " +
      "(256 of one owner) wait to be compiled. While no model takes the owner's requests, bodies over 64 KiB or of unknown " +
      "length are refused unread.",
    server_shutting_down: "The server is shutting down.",
    too_many_connections: "The server has as many open connections as it allows.",
    store_busy: "The database is busy.",
    store_unavailable: "The database takes no writes, or cannot be read.",
    storage_unavailable: "The disk takes no writes.",
  },
);

/**
 * Every error that the API answers with, in the order of their statuses. docs/api.md has a table of it. A key is the
 * `code` of the response unless its entry names another: some codes occur with two statuses, and some errors have none.
 */
export const ERRORS = {
  ...BAD_REQUEST,
  ...group(
    { status: 400, codeFrom: "a code of [batch validation](batches.md#states)" },
    { job_invalid: "The request of a job was accepted, and failed validation afterwards." },
  ),
  ...group(
    { status: 400, code: null },
    { unpaired_tool_call: "A tool call in `input` has no output, or an output has no call before it." },
  ),
  ...group(
    { status: 401, type: "authentication_error" },
    { invalid_api_key: "The API key is missing, unknown, revoked or expired; for `/metrics`, its token." },
  ),
  ...group(
    { status: 403, type: "permission_error" },
    {
      missing_scope: "The API key lacks the scope.",
      tier_not_allowed: "The API key may not use the tier.",
    },
  ),
  ...group(
    { status: 403 },
    {
      origin_not_allowed:
        "A web page of another origin calls a server without API keys. `--cors-origin` names the origins that may.",
    },
  ),
  ...group(
    { status: 404 },
    {
      unknown_url: "The server has no such path.",
      model_not_found: "There is no such model, or the API key may not use it.",
    },
  ),
  ...group(
    { status: 404, code: null },
    {
      not_found:
        "There is no such file, upload, batch, job, stored answer, conversation, item, key, owner, model file or download, or " +
        "it belongs to another owner.",
    },
  ),
  ...group(
    { status: 405 },
    { method_not_allowed: "The path does not support the method; `Allow` lists those it does." },
  ),
  ...group({ status: 408, retry: "at once" }, { request_timeout: "The request arrives too slowly." }),
  ...group(
    { status: 409 },
    {
      file_in_use: "The file is the input of a batch that has not ended.",
      model_in_use: "A served model, or a download that has not ended, uses the files of the model.",
      key_revoked: "The API key to be changed is revoked.",
      idempotency_key_reused: "The `Idempotency-Key` was used with another request.",
      own_owner: "The API key that asks to erase an owner belongs to that owner.",
    },
  ),
  ...group({ status: 409, code: null }, { batch_ended: "The batch to be cancelled has completed, failed or expired." }),
  ...group(
    { status: 410 },
    {
      batch_cancelled: "The job was cancelled before it ran.",
      job_deleted: "The answer of the job was deleted.",
    },
  ),
  ...group(
    { status: 413 },
    {
      request_too_large: "The JSON body is too large.",
      file_too_large: "The file or part is too large.",
    },
  ),
  ...group(
    { status: 415 },
    {
      unsupported_media_type: "The `Content-Type` is not supported.",
      unsupported_encoding: "The `Content-Encoding` is not supported.",
    },
  ),
  ...group({ status: 416 }, { range_not_satisfiable: "The range lies outside of the file." }),
  ...group({ status: 417 }, { expectation_failed: "`Expect` is not `100-continue`." }),
  ...group({ status: 421 }, { host_not_allowed: "The server does not answer to this host name." }),
  ...group(
    { status: 429, type: "rate_limit_error", retry: "later or no" },
    {
      rate_limit_exceeded:
        "A limit of the API key is reached: requests or tokens per minute, concurrent requests, enqueued tokens. Or the owner " +
        "has `--max-open-batches` open batches, or too many wrong API keys came from this address. Or the rate of the model's " +
        "upstream is used up for longer than the request may wait.",
    },
  ),
  ...group(
    { status: 429, type: "rate_limit_error", retry: "later" },
    {
      too_many_reports: "Eight usage reports of the owner wait. Reports of one owner run one after the other.",
      too_many_downloads: "16 downloads of models have not ended.",
      resource_unavailable:
        "The queue wait of a flex request is too long, or its model was not loaded in time. Not charged.",
    },
  ),
  ...group(
    { status: 429, type: "insufficient_quota", retry: "later or no" },
    { insufficient_quota: "A budget of the API key or its owner is used up, or too small for this batch." },
  ),
  ...group({ status: 431 }, { headers_too_large: "The request has too many or too long headers." }),
  ...group({ status: 500, retry: "at once" }, { internal_error: "The server failed. Its log has the cause." }),
  ...group(
    { status: 500, codeFrom: "`engine_died`" },
    { job_failed: "The engine died each time that the request of a job ran." },
  ),
  ...group({ status: 501 }, { not_implemented: "The operation of Ollama's API is not supported." }),
  ...group(
    { status: 502, retry: "at once" },
    { upstream_failed: "The upstream that computes the model failed at the request, or its answer could not be read." },
  ),
  ...UNAVAILABLE,
  ...group(
    { status: 503, retry: "later or no" },
    {
      engine_failed:
        "The engine of the model has failed. `Retry-After` says when it is started again; with `x-should-retry: false`, the " +
        "operator has to act first.",
    },
  ),
  ...group({ status: 504 }, { batch_expired: "The job did not run within its completion window." }),
  ...group({ status: 504, code: "request_timeout" }, { job_timeout: "The job ran for too long." }),
  ...group(
    { status: 507, retry: "later or no" },
    { insufficient_storage: "The disk is full except for `--disk-reserve`." },
  ),
  ...group(
    { status: 507, type: "insufficient_quota", code: "insufficient_storage" },
    {
      storage_quota_exceeded:
        "`--storage-quota` or the key's `storage_bytes` is used up (a file or part counts as 4 KiB at least), or the owner has " +
        "`--max-files` files, 1,000 open uploads or `--max-stored` stored answers.",
    },
  ),
};

/** A key of the catalogue. */
export type ErrorKey = keyof typeof ERRORS;
export type BadRequestKey = keyof typeof BAD_REQUEST;
export type UnavailableKey = keyof typeof UNAVAILABLE;
