import type { ModelFacts } from "../../../engine/protocol/config.ts";
import type { OllamaModel } from "../../../openapi/ollama/models.ts";
import type { Log } from "../../../platform/log.ts";
import type { ServedModel } from "../../models/model-set.ts";
import { ggufMetadata } from "../../models/source/gguf-metadata.ts";
import { servedContext } from "./model-description.ts";

type Info = OllamaModel["model_info"];

/** The metadata of models' files, as POST /api/show has it. */
export class ModelInfo {
  readonly #log: Log;
  /** The metadata without lists, by the facts of a load. Clients ask for every model, and again and again. */
  readonly #read = new WeakMap<ModelFacts, Promise<Info>>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** @param lists whether lists are read, which have the vocabulary; where not they are null */
  async of(model: ServedModel, lists: boolean): Promise<Info> {
    const { facts } = model.engine;
    if (facts === null) return reported(model.id, facts);
    let read = lists ? undefined : this.#read.get(facts);
    read ??= this.#metadata(facts, lists);
    if (!lists) this.#read.set(facts, read);
    const metadata = await read;
    return { ...reported(model.id, facts), ...metadata, ...served(facts) };
  }

  /** Empty for a model of an upstream, and where the file has changed so that it cannot be read. */
  async #metadata({ model, local }: ModelFacts, lists: boolean): Promise<Info> {
    if (local === null) return {};
    try {
      return await ggufMetadata(local.path, lists);
    } catch (err) {
      this.#log.warn({ model, err }, "The metadata of a model's file cannot be read");
      return {};
    }
  }
}

/** The properties that the engine reported, under the names of metadata. */
function reported(id: string, facts: ModelFacts | null): Info {
  const architecture = facts?.local?.architecture ?? "unknown";
  const common = { "general.architecture": architecture, "general.basename": id };
  if (facts === null) return common;
  const { local, vocabulary, embedding } = facts;
  return {
    ...common,
    ...(local !== null && { "general.parameter_count": local.parameters }),
    ...(vocabulary !== null && { [`${architecture}.vocab_size`]: vocabulary }),
    ...(embedding?.width != null && { [`${architecture}.embedding_length`]: embedding.width }),
  };
}

/** The context is the served one, in place of that of the training: clients compute from it how long a prompt may be. */
function served(facts: ModelFacts): Info {
  return { [`${facts.local?.architecture ?? "unknown"}.context_length`]: servedContext(facts) };
}
