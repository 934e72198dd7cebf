import type { Engine } from "../../engine/engine.ts";
import { aliased, type ModelNames, modelNamed, OWN_NAMES } from "../../engine/model-names.ts";

export interface ServedModel {
  /** The model's own name; equals engine.model. */
  readonly id: string;
  readonly engine: Engine;
  /** Unix seconds, for GET /v1/models. */
  readonly created: number;
  /** The name of the upstream that computes it; absent for a model that takes memory here. */
  readonly upstream?: string;
}

/** Finds models that may be served beside those of the options. */
export interface ModelSearch {
  /** Models that are served, or will be. */
  readonly names: readonly string[];
  /** Looks for a model, and adds it to the set where there is one. */
  find(name: string): Promise<void>;
}

/** The models of this server: those of the options in their order, which stay, then those of the folder as they are found. */
export class ModelSet {
  readonly names: ModelNames;
  readonly #byId: Map<string, ServedModel>;
  /** All that were ever in the set. */
  readonly #known: Set<string>;
  readonly #listeners: ((model: ServedModel) => void)[] = [];
  #search: ModelSearch | null = null;

  constructor(models: readonly ServedModel[], names: ModelNames = OWN_NAMES) {
    this.names = names;
    this.#byId = new Map(models.map((model) => [model.id, model]));
    this.#known = new Set(this.#byId.keys());
    if (this.#byId.size !== models.length) throw new Error("two models have the same name");
  }

  /** The model of a name in a request. */
  get(name: string): ServedModel | undefined {
    const id = modelNamed(this.names, [...this.#byId.keys()], name);
    return id === null ? undefined : this.#byId.get(id);
  }

  /** True for the own name of a model, and for an alias. */
  knows(name: string): boolean {
    return this.#byId.has(name) || Object.hasOwn(this.names.aliases, name);
  }

  list(): ServedModel[] {
    return [...this.#byId.values()];
  }

  /** Adds a model, or one that was removed again, with the same engine. */
  add(model: ServedModel): void {
    this.#byId.set(model.id, model);
    if (this.#known.has(model.id)) return;
    this.#known.add(model.id);
    for (const listener of this.#listeners) listener(model);
  }

  /** Requests no longer find the model. Its engine stays known to all that work with it. */
  remove(id: string): void {
    this.#byId.delete(id);
  }

  /** Calls back once for each model that is added. */
  added(listener: (model: ServedModel) => void): void {
    this.#listeners.push(listener);
  }

  /** Names of models that are in the set or will be added. */
  get expected(): string[] {
    return [...new Set([...this.#byId.keys(), ...(this.#search?.names ?? [])])];
  }

  searchBy(search: ModelSearch): void {
    this.#search = search;
  }

  /** Null where a model or an alias has this name; else resolves when the model was searched for. */
  search(name: string): Promise<void> | null {
    const id = this.#byId.has(name) ? name : (aliased(this.names.aliases, name) ?? name);
    return this.#byId.has(id) ? null : (this.#search?.find(id) ?? null);
  }
}
