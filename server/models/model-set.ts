import type { Engine } from "../../engine/engine.ts";

export interface ServedModel {
  /** The name that clients ask for; equals engine.model. */
  readonly id: string;
  readonly engine: Engine;
  /** Unix seconds, as GET /v1/models tells it. */
  readonly created: number;
}

/** The models of this server, in the order they were given; fixed for its life. */
export class ModelSet {
  readonly #byId: ReadonlyMap<string, ServedModel>;

  constructor(models: readonly ServedModel[]) {
    this.#byId = new Map(models.map((model) => [model.id, model]));
    if (this.#byId.size !== models.length) throw new Error("two models have the same name");
  }

  get(id: string): ServedModel | undefined {
    return this.#byId.get(id);
  }

  list(): ServedModel[] {
    return [...this.#byId.values()];
  }
}
