import { MAX_ERROR_BODY_BYTES } from "../../engine/upstream/answer/error-body.ts";
import { MOST_EVENT_CHARACTERS, MOST_STREAM_BYTES } from "../../engine/upstream/answer/event-reader.ts";
import { MOST_BODY_BYTES } from "../../engine/upstream/attempt.ts";
import { DEFAULT_TIMEOUTS } from "../../engine/upstream/dialect/upstream-config.ts";
import { LIST_TIMEOUT_MS, MOST_LIST_BYTES, MOST_MODELS } from "../../engine/upstream/discovery.ts";
import { SCRAPE_TIMEOUT_MS } from "../../engine/upstream/load-scrape.ts";
import { MAX_LINES, MAX_METRICS_BYTES } from "../../engine/upstream/replica/prometheus-text.ts";
import { MAX_BATCH_BYTES, MAX_FILE_BYTES, MAX_PART_BYTES } from "../../files/purpose-rules.ts";
import { MOST_SCHEMA_CHARACTERS } from "../../grammar/checked-grammar.ts";
import type { Operation } from "../../openapi/document/operation.ts";
import { operations } from "../../openapi/document/operations.ts";
import { MAX_ALL_PARTS } from "../../openapi/generation/message.ts";
import { MOST_GRAMMAR_CHARACTERS } from "../../openapi/generation/response-format.ts";
import { MOST_TOOLS_CHARACTERS, MOST_TOOLS_MEMBERS } from "../../openapi/generation/tools.ts";
import { MOST_INFILL_FILES } from "../../openapi/infill/infill.ts";
import { JSON_BOUNDS } from "../../openapi/json/json-scan.ts";
import { DEFAULT_REQUEST_LIMITS } from "../../openapi/request-limits.ts";
import { MAX_BATCH_INPUTS, MAX_BATCH_LINES } from "../../openapi/resources/batches.ts";
import { MOST_INPUTS } from "../../openapi/resources/embeddings.ts";
import { MOST_QUERY_CHARACTERS } from "../../openapi/resources/rerank.ts";

const KiB = 1024;

/** Most bytes of JSON bodies without prompts; `--max-body` bounds the others. */
export const BODY_BYTES = {
  batch: 64 * KiB,
  key: 256 * KiB,
  owner: 16 * KiB,
  download: 16 * KiB,
  upload: 1024 * KiB,
  ollamaModel: 16 * KiB,
  metadata: 64 * KiB,
} as const;

/** The bounds of one input of the server. */
export interface InputLimits {
  bytes: string;
  /** Counts and nesting of its content. */
  items: string;
  /** Time in which it must arrive, and how other requests are protected from the work on it. */
  time: string;
  /** Memory that it uses. */
  memory: string;
  /** The limit against which it counts. */
  countsAgainst: string;
}

const count = (value: number) => value.toLocaleString("en-US");
const seconds = (ms: number) => `${ms / 1000} s`;
const { messages, choices, prompts, promptTokens } = DEFAULT_REQUEST_LIMITS;

const JSON_ITEMS =
  `${JSON_BOUNDS.depth} levels, ${count(JSON_BOUNDS.containers)} arrays and objects, ` +
  `${count(JSON_BOUNDS.members)} members, ${count(JSON_BOUNDS.values)} values, names of ${count(JSON_BOUNDS.name)} characters; checked up to the first fault`;
const JSON_TIME =
  "120 s to arrive; read in slices of 256 KiB; larger bodies parsed in slices too, and checked one at a time in a slice of their own";
const BODY_MEMORY = "the body once, until the answer is over; all together --body-memory";
const FORM_TIME = "1 kB/s over 30 s; synced by other threads";

function json(bytes: string, items: string, countsAgainst: string): InputLimits {
  return { bytes, items: `${JSON_ITEMS}; ${items}`, time: JSON_TIME, memory: BODY_MEMORY, countsAgainst };
}

/** A body with a prompt. */
function prompt(
  items: string,
  countsAgainst = "requests, tokens and money of key and owner, its part of the queue",
): InputLimits {
  return json("--max-body", items, countsAgainst);
}

function small(bytes: number, items: string, countsAgainst: string): InputLimits {
  return json(`${bytes / KiB} KiB`, items, countsAgainst);
}

const NO_BODY: InputLimits = {
  bytes: "no body is read",
  items: "as the head has room for",
  time: "as the head",
  memory: "nothing is kept",
  countsAgainst: "the connection",
};

const MESSAGE_ITEMS =
  `${count(MAX_ALL_PARTS)} blocks of all together, 128 tools of ${count(MOST_TOOLS_CHARACTERS)} characters and ` +
  `${count(MOST_TOOLS_MEMBERS)} members together, schemas of ${count(MOST_SCHEMA_CHARACTERS)} characters`;
const RESPONSE_ITEMS = `${count(messages)} items of 1,024 parts, ${count(MAX_ALL_PARTS)} parts of all together, 128 tools of ${count(MOST_TOOLS_CHARACTERS)} characters and ${count(MOST_TOOLS_MEMBERS)} members together, schemas of ${count(MOST_SCHEMA_CHARACTERS)} characters`;

const BODIES: Readonly<Record<string, InputLimits>> = {
  "post /v1/chat/completions": prompt(
    `${count(messages)} messages of 1,024 parts and 128 calls, ${count(MAX_ALL_PARTS)} of both together, 128 tools of ${count(MOST_TOOLS_CHARACTERS)} characters and ${count(MOST_TOOLS_MEMBERS)} members together, ${choices} choices, schemas of ${count(MOST_SCHEMA_CHARACTERS)} characters`,
  ),
  "post /v1/messages": prompt(`${count(messages)} messages, ${MESSAGE_ITEMS}`),
  "post /v1/messages/count_tokens": prompt(
    `${count(messages)} messages, ${MESSAGE_ITEMS}`,
    "requests of the key, its owner's part of the queue",
  ),
  "post /v1/messages/batches": prompt(
    `${count(MAX_BATCH_LINES)} requests, whose params are checked when they run`,
    "open batches, enqueued tokens and money of the owner",
  ),
  "post /v1/completions": prompt(`${prompts} prompts of ${count(promptTokens)} tokens, ${choices} choices each`),
  "post /infill": prompt(`a prefix, a suffix, ${MOST_INFILL_FILES} other files`),
  "post /v1/responses": prompt(RESPONSE_ITEMS),
  "post /v1/responses/compact": prompt(RESPONSE_ITEMS),
  "post /v1/responses/input_tokens": prompt(RESPONSE_ITEMS, "requests of the key, its owner's part of the queue"),
  "post /v1/embeddings": prompt(`${count(MOST_INPUTS)} inputs`),
  "post /v1/rerank": prompt(
    `2,048 documents, ${count(MOST_QUERY_CHARACTERS)} characters of the query times the documents`,
  ),
  "post /api/chat": prompt(
    `${count(messages)} messages of 128 calls, ${count(MAX_ALL_PARTS)} calls of all together, 128 tools of ${count(MOST_TOOLS_CHARACTERS)} characters and ${count(MOST_TOOLS_MEMBERS)} members together, a schema of ${count(MOST_SCHEMA_CHARACTERS)} characters, 64 stop strings`,
  ),
  "post /api/generate": prompt(`one prompt, a schema of ${count(MOST_SCHEMA_CHARACTERS)} characters, 64 stop strings`),
  "post /api/embed": prompt(`${count(MOST_INPUTS)} inputs`),
  "post /api/embeddings": prompt("one input"),
  "post /api/show": small(BODY_BYTES.ollamaModel, "one name", "the connection"),
  "post /api/pull": small(BODY_BYTES.ollamaModel, "one name", "the connection"),
  "post /v1/tokenize": prompt(
    "a text of a multiple of the model's context",
    "requests of the key, its owner's part of the queue",
  ),
  "post /v1/detokenize": prompt(`${count(promptTokens)} tokens`, "requests of the key, its owner's part of the queue"),
  "post /v1/files": form(MAX_FILE_BYTES),
  "post /v1/uploads": small(BODY_BYTES.upload, "one upload", "1,000 open uploads of the owner"),
  "post /v1/uploads/:upload/parts": form(MAX_PART_BYTES),
  "post /v1/uploads/:upload/complete": small(BODY_BYTES.upload, "10,000 parts", "storage of key and owner"),
  "post /v1/batches": small(BODY_BYTES.batch, "one batch", "open batches, enqueued tokens and money of the owner"),
  "post /v1/chat/completions/:id": small(BODY_BYTES.metadata, "one map of metadata", "storage of key and owner"),
  "post /v1/conversations": json("--max-body", "20 items", "storage of key and owner, --max-stored"),
  "post /v1/conversations/:id": small(BODY_BYTES.metadata, "one map of metadata", "storage of key and owner"),
  "post /v1/conversations/:id/items": json(
    "--max-body",
    "20 items, 10,000 of a conversation",
    "storage of key and owner",
  ),
  "post /v1/nightshift/keys": small(BODY_BYTES.key, "one key", "only administrators"),
  "patch /v1/nightshift/keys/:id": small(BODY_BYTES.key, "one key", "only administrators"),
  "post /v1/nightshift/keys/:id/rotate": small(BODY_BYTES.key, "one key", "only administrators"),
  "post /v1/nightshift/downloads": small(BODY_BYTES.download, "one source", "16 downloads that have not ended"),
  "patch /v1/nightshift/owners/:owner": small(BODY_BYTES.owner, "one owner", "only administrators"),
};

function form(bytes: number): InputLimits {
  return {
    bytes: `${count(bytes / KiB / KiB)} MiB, and 256 KiB around the file`,
    items: "one file, 32 fields of 4 KiB",
    time: FORM_TIME,
    memory: "none: it streams to the disk, below --disk-reserve not at all",
    countsAgainst: "storage of key and owner, --storage-quota",
  };
}

/** Inputs other than the body of an operation. */
export const OTHER_INPUTS: Readonly<Record<string, InputLimits>> = {
  "a connection": {
    bytes: "none of its own",
    items: "--max-connections, fewer where few files may be open; one more is 503",
    time: "--keep-alive-timeout while idle; 30 s in which a reader reads nothing",
    memory: "1 MiB of a stream for a slow reader",
    countsAgainst: "all clients together",
  },
  "a request's head": {
    bytes: "16 KiB",
    items: "100 headers, one Host; the body of a request that its head refuses is not read",
    time: "15 s",
    memory: "16 KiB",
    countsAgainst: "the connection",
  },
  "a packed body": {
    bytes: "counted as it unpacks, in pieces of 64 KiB",
    items: "as unpacked",
    time: "unpacked by other threads",
    memory: "as unpacked",
    countsAgainst: "as unpacked",
  },
  "a whole answer": {
    bytes: "as the request's own bounds allow",
    items: "written in pieces of 64 Ki characters, each in a slice of its own",
    time: "30 s in which its reader reads nothing",
    memory: "the answer once",
    countsAgainst: "the request",
  },
  "a grammar, or a schema for one": {
    bytes: `a schema ${count(MOST_SCHEMA_CHARACTERS)} characters, those of a request's strict tools together too; GBNF ${count(MOST_GRAMMAR_CHARACTERS)}`,
    items: "512 that wait, 256 of one owner; 503 past them",
    time: "made by other processes, one for short sources and one for long; 20 s",
    memory: "a heap of 384 MB for each process; 64 grammars are kept",
    countsAgainst: "its owner's part of the fair queue",
  },
  "a batch's input file": {
    bytes: `${count(MAX_BATCH_BYTES / KiB / KiB)} MiB, a line --max-body`,
    items: `${count(MAX_BATCH_LINES)} lines, ${count(MAX_BATCH_INPUTS)} inputs; each line as its endpoint's body`,
    time: "read by a process of its own",
    memory: "a chunk and a line",
    countsAgainst: "open batches, enqueued tokens and money of the owner",
  },
  "an answer of an upstream": {
    bytes: `a stream ${MOST_STREAM_BYTES / KiB / KiB} MiB, an event ${count(MOST_EVENT_CHARACTERS)} characters; one body ${MOST_BODY_BYTES / KiB / KiB} MiB, an error ${MAX_ERROR_BODY_BYTES / KiB} KiB`,
    items: "the choices that were asked for",
    time: `${seconds(DEFAULT_TIMEOUTS.connect)} to connect, ${seconds(DEFAULT_TIMEOUTS.firstEvent)} to the first event, ${seconds(DEFAULT_TIMEOUTS.silence)} between two, ${seconds(DEFAULT_TIMEOUTS.batchSilence)} for a batch line, unless the upstream's timeouts say otherwise`,
    memory: "an event at a time; one body once",
    countsAgainst: "the request",
  },
  "a list of models of an upstream": {
    bytes: `${MOST_LIST_BYTES / KiB / KiB} MiB`,
    items: `${count(MOST_MODELS)} models`,
    time: `${seconds(LIST_TIMEOUT_MS)}; every 30 s`,
    memory: "the list once",
    countsAgainst: "nothing: the operator chose the upstream",
  },
  "the metrics of an upstream": {
    bytes: `${MAX_METRICS_BYTES / KiB / KiB} MiB`,
    items: `${count(MAX_LINES)} lines`,
    time: `${seconds(SCRAPE_TIMEOUT_MS)}; every second, one at a time for each replica`,
    memory: "the text once",
    countsAgainst: "nothing: the operator chose the upstream",
  },
};

/** The bounds of an operation's body; undefined for one that reads a body and has no entry. */
export function limitsOf({ method, path, request, form }: Operation): InputLimits | undefined {
  // The tokenizer's paths exist without /v1 too, as in llama-server.
  const entry = BODIES[`${method} ${path}`] ?? BODIES[`${method} /v1${path}`];
  return entry ?? (request === undefined && form === undefined ? NO_BODY : undefined);
}

/** docs/limits.md */
export function limitsDocument(): string {
  const rows = new Map<string, string[]>();
  const add = (name: string, { bytes, items, time, memory, countsAgainst }: InputLimits) => {
    const cells = [bytes, items, time, memory, countsAgainst].join(" | ");
    rows.set(cells, [...(rows.get(cells) ?? []), name]);
  };
  for (const [name, limits] of Object.entries(OTHER_INPUTS)) add(name, limits);
  for (const operation of operations) {
    const limits = limitsOf(operation);
    if (limits === undefined || limits === NO_BODY) continue;
    add(`\`${operation.method.toUpperCase()} ${operation.path}\``, limits);
  }
  add("every other operation", NO_BODY);
  const lines = [...rows].map(([cells, names]) => `| ${names.join(", ")} | ${cells} |`);
  return `# Limits

The bounds on each input of any client, and of upstreams. This page is made of server/routes/input-limits.ts; a test fails for an operation
that reads a body and has no entry there.

| input | bytes | items and depth | time | memory | counts against |
|---|---|---|---|---|---|
${lines.join("\n")}
`;
}
