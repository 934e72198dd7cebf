import { z } from "zod";
import { USUAL_CONTEXT } from "../../engine/protocol/config.ts";
import { TOOL_FORMAT_NAMES } from "../../engine/tools/format-list.ts";
import { chatTemplates, type TemplateSetting } from "./kinds/chat-template-kind.ts";
import { keeping } from "./kinds/duration-kind.ts";
import { byName, choice, integer, models, optional, size, text } from "./kinds/kind.ts";
import { type RouteSettings, routes } from "./kinds/route-kind.ts";
import { toolFormats } from "./kinds/tool-format-kind.ts";
import { type UpstreamSetting, upstreams } from "./kinds/upstream-kind.ts";
import { row } from "./option.ts";

const KiB = 2 ** 10;
const GiB = 2 ** 30;

/** The models that are served, their names and their places. */
export const MODEL_OPTIONS = {
  model: row(
    "Models",
    models(),
    [],
    "A model to serve: a GGUF file, hf:owner/repo:Q4_K_M or an https URL. A prefix name= sets its name; a suffix " +
      "+adapter.gguf@0.8 adds a LoRA adapter with that scale. Repeatable.",
    "the bundled demo model, as `demo`, where there is no upstream",
  ),
  upstream: row<UpstreamSetting[]>(
    "Models",
    upstreams(),
    [],
    "An OpenAI-compatible engine whose models are served too, such as gpu=http://gpu-1:8000/v1: vLLM, SGLang, llama-server, a " +
      "hosted API, another Nightshift. The file sets its replicas, API key and more (docs/upstreams.md). Repeatable.",
    "none",
  ),
  alias: row<Record<string, string>>(
    "Models",
    byName(
      "alias=model",
      "alias=model, such as gpt-4o=demo or claude-*=demo; in the file a map",
      z.string().min(1).max(256),
    ),
    {},
    "An additional name of a model, in requests; with * at its end, every name that begins so. Responses have the model's own " +
      "name. Repeatable.",
    "none",
  ),
  routes: row<RouteSettings>(
    "Models",
    routes(),
    {},
    "Names that stand for several models: rules, cost or load choose one for each request (docs/routes.md).",
    "none",
  ),
  unknownModel: row(
    "Models",
    choice(["refuse", "first"]),
    "refuse",
    "Answer to a request for a model that is not served: refuse is a 404, first uses the first model.",
  ),
  modelsDir: row(
    "Models",
    optional(text("dir")),
    null,
    "Directory of downloaded models.",
    "`models` in the data directory",
  ),
  serveModelsDir: row(
    "Models",
    choice(["on", "off"]),
    "off",
    "on: also serve the GGUF files in the directory of downloaded models, each by its file name without .gguf, loaded on its " +
      "first request. Files that are added are found by a request for them, and at SIGHUP. Needs --keep-alive.",
  ),
  offline: row(
    "Models",
    choice(["on", "off"]),
    "off",
    "on: use remote models only from earlier downloads, without network access.",
  ),
  downloadRate: row(
    "Models",
    optional(size(KiB, 1024 * GiB)),
    null,
    "Maximum download rate in bytes per second, such as 20MiB. Downloads run one at a time.",
    "no limit",
  ),
  context: row(
    "Models",
    optional(integer(16, 4_194_304, "tokens")),
    null,
    "Maximum tokens of one request, prompt and output together.",
    `what the model was trained for, as far as memory allows; at most ${USUAL_CONTEXT.toLocaleString("en-US")} on a CPU, 32,768 on a ` +
      "GPU, where each sequence has cells of its own",
  ),
  keepAlive: row(
    "Models",
    keeping(),
    null,
    "How long a model stays in memory after its last request. With any value but forever, models are loaded on their " +
      "first request instead of at start.",
    "forever: all models are loaded at start and stay",
  ),
  sequences: row("Models", integer(1, 256), 32, "Maximum sequences that run at the same time, for each model."),

  toolFormat: row<Record<string, string>>(
    "Models",
    toolFormats(),
    {},
    `Format of a model's tool calls, for chat templates that do not define one: ${TOOL_FORMAT_NAMES.join(", ")}. Repeatable.`,
    "detected from the chat template",
  ),
  chatTemplate: row<TemplateSetting[]>(
    "Models",
    chatTemplates(),
    [],
    "A file with a chat template in Jinja, which replaces the one in the model's file. Several models need model=file. " +
      "Repeatable.",
    "the template in the model's file",
  ),
};
