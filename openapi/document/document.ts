import { queryProperties } from "../query-value.ts";
import type { RequestLimits } from "../request-limits.ts";
import { componentSchemas } from "./component-schemas.ts";
import type { Operation } from "./operation.ts";
import { operations } from "./operations.ts";

type Json = Record<string, unknown>;

/** The OpenAPI 3.1 document, made from the schemas that validate requests. */
export function openApiDocument(limits: RequestLimits, version: string): Json {
  const schemas = componentSchemas(limits);
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    const path = operation.path.replace(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [operation.method]: describeOperation(operation) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Nightshift",
      version,
      description:
        "A server for language models with the APIs of OpenAI, Anthropic and Ollama. Unknown request fields are ignored; null is the same as unset.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    paths,
    components: { schemas, securitySchemes: { bearer: { type: "http", scheme: "bearer" } } },
  };
}

const PREFER: Json = {
  name: "Prefer",
  in: "header",
  schema: { type: "string" },
  description:
    "`respond-async`: a request that would be refused for load is answered with 202 and becomes a job. With `wait=N`, " +
    "also a request that has not started, or is not expected to start, within N seconds.",
};

const IGNORED: Json = {
  schema: { type: "string" },
  description:
    "Names of the body's fields that were accepted and not used, separated by commas. Absent where there is none.",
};

function describeOperation(operation: Operation): Json {
  const parameters: Json[] = [...operation.path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  if (operation.request && operation.accepted) parameters.push(PREFER);
  if (operation.query)
    parameters.push(...queryProperties(operation.query).map((property) => ({ ...property, in: "query" })));
  const responses: Record<string, Json> = {
    [operation.status ?? 200]: {
      description: operation.status === undefined ? "OK" : "Accepted",
      ...(operation.request && operation.access === "inference" && { headers: { "x-nightshift-ignored": IGNORED } }),
      content: contentOf(operation.response, operation.stream, operation.streamType),
      // Not a union in the schema: a generated client would have to distinguish the two for every response.
      ...(operation.dryRun && { "x-nightshift-dry-run": contentOf(operation.dryRun) }),
    },
  };
  if (operation.accepted)
    responses["202"] = { description: "Accepted as a job", content: contentOf(operation.accepted) };
  for (const [status, description] of Object.entries({
    ...refusalsOf(operation),
    ...(operation.request && UNREADABLE),
    ...operation.failures,
  })) {
    const schema = status === "503" && operation.unready ? operation.unready : (operation.error ?? "Error");
    responses[status] = { description, content: contentOf(schema) };
  }
  return {
    operationId: operation.id,
    tags: [tagOf(operation.path)],
    summary: operation.summary,
    ...(parameters.length > 0 && { parameters }),
    ...(operation.request && { requestBody: { required: true, content: contentOf(operation.request) } }),
    ...(operation.form && { requestBody: { required: true, content: formContent(operation.form) } }),
    // The empty requirement: no key is needed while API keys are off, and no token on loopback.
    security: operation.access === "open" ? [] : [{}, { bearer: [] }],
    responses,
  };
}

/** Failures of reading a JSON body. */
const UNREADABLE = {
  "413": "The body is too large.",
  "415": "The body is not JSON, or its encoding is not supported.",
};

/** The tag of `/v1/chat/completions` is chat, of `/v1/nightshift/keys/{id}` keys, of `/health` server, of `/api/chat` ollama. */
function tagOf(path: string): string {
  if (path.startsWith("/api/")) return "ollama";
  const [version, area, resource] = path.split("/").filter(Boolean);
  if (version !== "v1" || area === undefined) return "server";
  return area === "nightshift" && resource !== undefined ? resource : area;
}

/** Failures of the check of the API key. */
function refusalsOf({ access }: Operation): Record<string, string> {
  if (access === "open" || access === "token") return {};
  return {
    "401": "The API key is missing or not valid.",
    ...(access !== "key" && { "403": `The API key lacks the scope \`${access}\`, or another right for this request.` }),
    "429": "Too many wrong API keys came from this address.",
    "503": "API keys cannot be checked at the moment.",
  };
}

function formContent(schema: string): Json {
  return { "multipart/form-data": { schema: { $ref: `#/components/schemas/${schema}` } } };
}

function contentOf(schema: string, stream?: string, streamType = "text/event-stream"): Json {
  if (schema === "text") return { "text/plain": { schema: { type: "string" } } };
  if (schema === "bytes") return { "application/octet-stream": {}, "application/jsonl": {} };
  if (schema === "object") return { "application/json": { schema: { type: "object" } } };
  const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });
  return {
    "application/json": { schema: reference(schema) },
    ...(stream && { [streamType]: { schema: reference(stream) } }),
  };
}
