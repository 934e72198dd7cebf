import type { ModelFacts } from "../../engine/protocol/config.ts";
import { baseUrlLines, baseUrls } from "../options/base-urls.ts";

export interface BannerContent {
  /** Such as http://127.0.0.1:8080; or unix:/run/nightshift.sock. */
  url: string;
  /** True if Ollama's API is served. */
  ollama: boolean;
  version: string;
  /** Facts of the models that are ready, in the order of the options. */
  models: readonly ModelFacts[];
  /** Names of the models that are loaded on their first request. */
  onDemand: readonly string[];
  /** True if only the bundled model is served. */
  demo: boolean;
  /** The environment variable with an API key; null if clients need none. */
  keyVariable: string | null;
  /** The command line before the options: `npm start --` or `nightshift`. */
  command: string;
  /** Milliseconds since the process began. */
  startMs: number;
}

const UNIX = "unix:";
/** Names of models on demand that are printed. */
const MOST_NAMES = 10;

/** The text that is printed when the server is ready. */
export function banner(content: BannerContent): string {
  const { url, ollama, version, models, onDemand, demo, keyVariable, command, startMs } = content;
  const lines = [`Nightshift ${version} is ready after ${(startMs / 1000).toFixed(1)} s.`, ""];
  if (url.startsWith(UNIX)) lines.push(`  Socket    ${url.slice(UNIX.length)}`);
  lines.push(...labelled("Base URL", baseUrlLines(baseUrls(originOf(url), ollama))));
  lines.push(...labelled("Model", [...models.map(modelLine), ...onDemandLines(onDemand)]));
  if (models.length > 0) lines.push(`  Compute   ${[...new Set(models.map(computeLine))].join("; ")}`);
  const [first] = models;
  const [unloaded] = onDemand;
  if (first !== undefined) lines.push(...tried(curlLine(url, trial(first), keyVariable)));
  else if (unloaded !== undefined) lines.push(...tried(curlLine(url, chatTrial(unloaded), keyVariable)));
  else lines.push("  Model     none answers yet: the log says why, and `nightshift upstreams` shows upstreams", "");
  if (demo) {
    lines.push(
      "The demo model is a toy. To serve a real model:",
      "",
      `  ${command} --model hf:owner/repo:Q4_K_M        (a GGUF repository on Hugging Face)`,
      `  ${command} --model name=path/to/model.gguf     (repeat --model to serve several)`,
      "",
    );
  }
  return `${lines.join("\n")}\n`;
}

function tried(command: string): string[] {
  return ["", "Try it:", "", `  ${command}`, ""];
}

/** The label is beside the first line. */
function labelled(label: string, lines: readonly string[]): string[] {
  return lines.map((line, index) => `  ${(index === 0 ? label : "").padEnd(10)}${line}`);
}

/** Behind a socket any host name is the server. */
function originOf(url: string): string {
  return url.startsWith(UNIX) ? "http://localhost" : url;
}

function onDemandLines(models: readonly string[]): string[] {
  const lines = models.slice(0, MOST_NAMES).map((model) => `${model}: loaded on its first request`);
  return models.length <= MOST_NAMES ? lines : [...lines, `and ${models.length - MOST_NAMES} more`];
}

function modelLine(facts: ModelFacts): string {
  const { model, description, context, sequences, local } = facts;
  const head = `${model}: ${description}; context ${context.toLocaleString("en-US")} tokens`;
  if (facts.generates) return local === null ? head : `${head}, ${sequences} sequences (${local.kv} KV cache)`;
  return facts.embedding?.pooling === "rank" ? `${head}, ranks documents` : `${head}, embeddings alone`;
}

function computeLine({ local, upstream }: ModelFacts): string {
  if (local === null) return `upstream ${upstream?.name}`;
  const devices = local.devices.length === 0 ? "" : ` on ${local.devices.join(", ")}`;
  return `${local.backend}${devices}, ${local.threads} thread${local.threads === 1 ? "" : "s"} (${local.build})`;
}

/** One line that a POSIX shell can run, for any name of a model. */
function curlLine(url: string, { path, body }: Trial, keyVariable: string | null): string {
  const quoted = quote(JSON.stringify(body));
  const key = keyVariable === null ? "" : ` -H "Authorization: Bearer $${keyVariable}"`;
  const socket = url.startsWith(UNIX) ? ` --unix-socket ${quote(url.slice(UNIX.length))}` : "";
  return `curl${socket} -N ${originOf(url)}${path}${key} -H 'Content-Type: application/json' -d ${quoted}`;
}

/** One argument of a POSIX shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

interface Trial {
  path: string;
  body: object;
}

/** A request that the model can answer. */
function trial({ model, generates, embedding }: ModelFacts): Trial {
  if (generates) return chatTrial(model);
  if (embedding?.pooling !== "rank") return { path: "/v1/embeddings", body: { model, input: "Hello!" } };
  return { path: "/v1/rerank", body: { model, query: "A greeting?", documents: ["Hello!", "Goodbye!"] } };
}

function chatTrial(model: string): Trial {
  const messages = [{ role: "user", content: "Hello!" }];
  return { path: "/v1/chat/completions", body: { model, messages, stream: true } };
}
