import type { Engine } from "../../engine/engine.ts";
import { type ModelNames, modelNamed, OWN_NAMES } from "../../engine/model-names.ts";

export interface ServedModel {
  /** The model's own name; equals engine.model. */
  readonly id: string;
  readonly engine: Engine;
  /** Unix seconds, as GET /v1/models tells it. */
  readonly created: number;
}

/** The models of this server, in the order they were given; fixed for its life. */
export class ModelSet {
  readonly names: ModelNames;
  readonly #byId: ReadonlyMap<string, ServedModel>;

  constructor(models: readonly ServedModel[], names: ModelNames = OWN_NAMES) {
    this.names = names;
    this.#byId = new Map(models.map((model) => [model.id, model]));
    if (this.#byId.size !== models.length) throw new Error("two models have the same name");
  }

  /** The model that a client means by this name. */
  get(name: string): ServedModel | undefined {
    const id = modelNamed(this.names, [...this.#byId.keys()], name);
    return id === null ? undefined : this.#byId.get(id);
  }

  list(): ServedModel[] {
    return [...this.#byId.values()];
  }
}
