import type { Engine } from "../../engine/engine.ts";
import { type ModelNames, modelNamed, OWN_NAMES } from "../../engine/model-names.ts";

export interface ServedModel {
  /** The model's own name; equals engine.model. */
  readonly id: string;
  readonly engine: Engine;
  /** Unix seconds, for GET /v1/models. */
  readonly created: number;
}

/** The models of this server in the order of the options; they do not change while it runs. */
export class ModelSet {
  readonly names: ModelNames;
  readonly #byId: ReadonlyMap<string, ServedModel>;

  constructor(models: readonly ServedModel[], names: ModelNames = OWN_NAMES) {
    this.names = names;
    this.#byId = new Map(models.map((model) => [model.id, model]));
    if (this.#byId.size !== models.length) throw new Error("two models have the same name");
  }

  /** The model of a name in a request. */
  get(name: string): ServedModel | undefined {
    const id = modelNamed(this.names, [...this.#byId.keys()], name);
    return id === null ? undefined : this.#byId.get(id);
  }

  list(): ServedModel[] {
    return [...this.#byId.values()];
  }
}
