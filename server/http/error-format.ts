import type { IncomingMessage } from "node:http";
import { anthropicErrorBody, anthropicStatus } from "../../openapi/anthropic/error.ts";
import type { ApiError } from "../../openapi/api-error.ts";
import { ollamaErrorBody } from "../../openapi/ollama/error.ts";

/** The form of the errors of an API. */
export interface ErrorFormat {
  /** The status and the body of an error; `requestId` is that of the HTTP request. */
  written(error: ApiError, requestId: string): { status: number; body: object };
}

const OPENAI: ErrorFormat = { written: (error) => ({ status: error.status, body: error.body }) };

const OLLAMA: ErrorFormat = { written: (error) => ({ status: error.status, body: ollamaErrorBody(error) }) };

const ANTHROPIC: ErrorFormat = {
  written: (error, requestId) => ({ status: anthropicStatus(error), body: anthropicErrorBody(error, requestId) }),
};

/** The paths whose errors have another form than OpenAI's. */
const FORMATS: readonly { paths: RegExp; format: ErrorFormat }[] = [
  { paths: /^\/api\//, format: OLLAMA },
  { paths: /^\/v1\/messages(?:\/|$)/, format: ANTHROPIC },
];

/** The form of the errors of a path, which may have a query. */
export function pathErrors(url: string): ErrorFormat {
  const path = url.split("?", 1)[0]!;
  return FORMATS.find(({ paths }) => paths.test(path))?.format ?? OPENAI;
}

/** The form of the errors of a request. */
export function requestErrors(req: IncomingMessage): ErrorFormat {
  return isOfAnthropic(req) ? ANTHROPIC : pathErrors(req.url ?? "/");
}

/** True for a request of an Anthropic client: these send their version to every path, and none to paths of Ollama. */
export function isOfAnthropic({ url = "/", headers }: IncomingMessage): boolean {
  const ofPath = pathErrors(url);
  return ofPath === ANTHROPIC || (ofPath === OPENAI && headers["anthropic-version"] !== undefined);
}
