import { OptionsError } from "../../platform/options-error.ts";
import { checkModelName } from "./source/model-name.ts";

/** By which names beside their own clients may ask for models. */
export interface ModelNames {
  /** A model's own name by alias. */
  aliases: Readonly<Record<string, string>>;
  /** The model that any other name stands for; null for none. */
  otherwise: string | null;
}

export const OWN_NAMES: ModelNames = { aliases: {}, otherwise: null };

/** Throws OptionsError for an alias that leads nowhere, or that is a model's own name. */
export function modelNames(
  { alias, unknownModel }: { alias: Readonly<Record<string, string>>; unknownModel: "refuse" | "first" },
  served: readonly string[],
): ModelNames {
  for (const [name, model] of Object.entries(alias)) {
    checkModelName(name);
    if (served.includes(name))
      throw new OptionsError(`--alias ${name}=${model}: a model has the name '${name}' itself.`);
    if (!served.includes(model)) {
      throw new OptionsError(`--alias ${name}=${model}: no model '${model}' is served, only ${served.join(", ")}.`);
    }
  }
  return { aliases: alias, otherwise: unknownModel === "first" ? (served[0] ?? null) : null };
}
