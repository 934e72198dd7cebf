import type { ModelFacts } from "../../engine/protocol/config.ts";
import type { ServedModel } from "../models/model-set.ts";
import type { ModelLoad } from "./model-load.ts";

/** A model whose engine takes requests now. */
export interface ReadyModel {
  model: ServedModel;
  facts: ModelFacts;
  /** The work that it has. */
  load: ModelLoad;
}
