import { hash } from "node:crypto";
import { type ModelNames, modelNamed } from "../../engine/model-names.ts";
import { finished } from "../../grammar/gbnf/paused-work.ts";
import { ApiError } from "../../openapi/api-error.ts";
import { JsonScan } from "../../openapi/json/json-scan.ts";
import { decodeText } from "../../openapi/json/json-text.ts";
import { JsonFault, jsonValue } from "../../openapi/json/json-value.ts";
import type { RequestLimits } from "../../openapi/request-limits.ts";
import { type BatchErrorCode, batchError } from "../../openapi/resources/batch-errors.ts";
import { type BatchEndpoint, type BatchError, MAX_BATCH_INPUTS } from "../../openapi/resources/batches.ts";
import { type BodyCheck, bodyCheck } from "./body-check.ts";
import type { InputLine } from "./input-lines.ts";
import { type CheckedLine, LineIndex } from "./line-index.ts";
import type { ModelBounds } from "./model-bounds.ts";

export interface ValidateRules {
  endpoint: BatchEndpoint;
  limits: RequestLimits;
  /** The own names of the models that the batch's owner may use. */
  models: readonly string[];
  names: ModelNames;
  /** Of the models that are loaded, or were, by their own names. */
  bounds: ReadonlyMap<string, ModelBounds>;
  maxLines: number;
  maxLineBytes: number;
  /** Errors that are listed one by one; of the others only the number. */
  maxErrors: number;
}

/** The result for a whole file: the number of lines and their model, or the errors. */
export type Validation =
  | { valid: true; model: string; lines: number }
  | { valid: false; model: string | null; errors: BatchError[] };

/** Characters of a custom_id. */
const MAX_CUSTOM_ID = 512;
/** Characters of a client's value that an error message quotes. */
const MAX_SHOWN = 64;

/** Checks a file line by line, all or nothing: of a file with a bad line only the errors are kept. */
export class LineValidator {
  /** The good lines before the first bad one. */
  readonly index: LineIndex;
  readonly #rules: ValidateRules;
  readonly #check: BodyCheck;
  /** Hashes, because the ids of a file may be longer than everything else that is kept of it. */
  readonly #customIds = new Set<string>();
  readonly #errors: BatchError[] = [];
  #badLines = 0;
  #lines = 0;
  #inputs = 0;
  #model: string | null = null;

  constructor(rules: ValidateRules) {
    this.#rules = rules;
    this.index = new LineIndex(rules.maxLines);
    this.#check = bodyCheck(rules.endpoint, rules.limits, (name) => rules.bounds.get(this.#modelNamed(name) ?? ""));
  }

  /** True once no further line can change the outcome. */
  get over(): boolean {
    return this.#lines > this.#rules.maxLines;
  }

  line(input: InputLine): void {
    this.#lines++;
    if (this.over) return;
    const line = this.#read(input);
    if ("code" in line) {
      this.#badLines++;
      if (this.#errors.length < this.#rules.maxErrors) this.#errors.push({ ...line, line: input.number });
    } else if (this.#badLines === 0) {
      this.index.add(line);
    }
  }

  /** Counts the inputs of a line of embeddings; the error is for the line that exceeds the bound of its batch. */
  #tooMany(inputs: number): Fault | null {
    this.#inputs += inputs;
    if (this.#inputs <= MAX_BATCH_INPUTS || this.#inputs - inputs > MAX_BATCH_INPUTS) return null;
    const message = `With this line the batch has more than ${MAX_BATCH_INPUTS} inputs, which is the most.`;
    return fault("too_many_inputs", "body.input", message);
  }

  /** The result for the lines so far. */
  end(): Validation {
    const { maxLines, maxErrors } = this.#rules;
    if (this.over) {
      const message = `The file has more than ${maxLines} lines, which is the most that one batch may have.`;
      return this.#invalid([...this.#errors, batchError("too_many_lines", message)]);
    }
    if (this.#lines === 0) return this.#invalid([batchError("empty_file", "The file has no lines.")]);
    if (this.#badLines > maxErrors) {
      const message = `${this.#badLines - maxErrors} more lines have errors.`;
      return this.#invalid([...this.#errors, batchError("more_errors", message)]);
    }
    if (this.#badLines > 0) return this.#invalid(this.#errors);
    return { valid: true, model: this.#model ?? "", lines: this.#lines };
  }

  #invalid(errors: BatchError[]): Validation {
    return { valid: false, model: this.#model, errors };
  }

  #read(input: InputLine): CheckedLine | Fault {
    if (input.bytes === null) {
      return fault("invalid_request", null, `The line is longer than ${this.#rules.maxLineBytes} bytes.`);
    }
    const text = decoded(input.bytes);
    const tooMuch = text === null ? null : new JsonScan().push(text);
    if (tooMuch !== null) return fault("invalid_json_line", null, `This line ${tooMuch}.`);
    const request = text === null ? NO_JSON : parse(text);
    if (typeof request === "string") return fault("invalid_json_line", null, request);
    const { custom_id: customId, method, url, body } = request;
    const wrong = this.#checkCustomId(customId) ?? this.#checkTarget(method, url);
    if (wrong !== null) return wrong;
    if (body === undefined || body === null) return missing("body");
    if (typeof body !== "object" || Array.isArray(body)) {
      return fault("invalid_request", "body", "Invalid type for 'body': expected an object.");
    }
    const checked = this.#checkModel(body) ?? this.#checkBody(body);
    if ("code" in checked) return checked;
    const tooMany = this.#tooMany(checked.inputs);
    if (tooMany !== null) return tooMany;
    return {
      number: input.number,
      customId: String(customId),
      offset: input.offset,
      length: input.bytes.length,
      ...checked,
    };
  }

  #checkCustomId(customId: unknown): Fault | null {
    if (customId === undefined || customId === null || customId === "") return missing("custom_id");
    if (typeof customId !== "string") {
      return fault("invalid_type", "custom_id", "Invalid type for 'custom_id': expected a string.");
    }
    if (customId.length > MAX_CUSTOM_ID) {
      const message = `Invalid 'custom_id': at most ${MAX_CUSTOM_ID} characters, but got ${customId.length}.`;
      return fault("invalid_value", "custom_id", message);
    }
    const digest = hash("sha256", customId, "base64");
    if (this.#customIds.has(digest)) {
      const message =
        `The custom_id '${shown(customId)}' for this request is a duplicate of another request. ` +
        "The custom_id parameter must be unique for each request in a batch.";
      return fault("duplicate_custom_id", "custom_id", message);
    }
    this.#customIds.add(digest);
    return null;
  }

  #checkTarget(method: unknown, url: unknown): Fault | null {
    if (method === undefined || method === null) return missing("method");
    if (method !== "POST") return fault("invalid_method", "method", "Invalid 'method': only 'POST' is supported.");
    if (url === undefined || url === null) return missing("url");
    if (url !== this.#rules.endpoint) {
      return fault("invalid_url", "url", "The URL provided for this request does not match the batch endpoint.");
    }
    return null;
  }

  #checkModel(body: object): Fault | null {
    const model = "model" in body ? body.model : undefined;
    // The schema of the body reports this error.
    if (typeof model !== "string") return null;
    const served = this.#modelNamed(model);
    if (served === null) {
      const message = `The provided model '${shown(model)}' is not supported by the Batch API.`;
      return fault("model_not_found", "body.model", message);
    }
    this.#model ??= served;
    if (served !== this.#model) {
      const message =
        `The model '${shown(model)}' for this request does not match the rest of the batch. ` +
        "Each batch must contain requests for a single model.";
      return fault("mismatched_model", "body.model", message);
    }
    return null;
  }

  #modelNamed(name: string): string | null {
    const { names, models } = this.#rules;
    return modelNamed(names, models, name);
  }

  #checkBody(body: object): ReturnType<BodyCheck> | Fault {
    if ("stream" in body && body.stream === true) {
      return fault("streaming_unsupported", "body.stream", "Streaming is not supported in the Batch API.");
    }
    try {
      return this.#check(body);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return fault("invalid_request", error.param === null ? "body" : `body.${error.param}`, error.message);
    }
  }
}

type Fault = Omit<BatchError, "line">;

function fault(code: BatchErrorCode, param: string | null, message: string): Fault {
  return { code, message, param };
}

function missing(param: string): Fault {
  return fault("missing_required_parameter", param, `Missing required parameter: '${param}'.`);
}

/** Null for bytes that are not UTF-8. */
function decoded(bytes: Uint8Array): string | null {
  try {
    return decodeText(bytes);
  } catch (error) {
    if (error instanceof ApiError) return null;
    throw error;
  }
}

const NO_JSON = "This line is not parseable as valid JSON.";
const NO_TEXT = "This line has a string with a NUL character or half of a surrogate pair.";

/** The JSON object of a line, or the error of the line; to be called within the bounds of JsonScan. */
function parse(text: string): Record<string, unknown> | string {
  try {
    const value = finished(jsonValue(text, []));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : NO_JSON;
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    return error.kind === "text" ? NO_TEXT : NO_JSON;
  }
}

function shown(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
