import { isPattern, type ModelNames } from "../../engine/model-names.ts";
import { OptionsError } from "../../platform/options-error.ts";
import { checkModelName } from "./source/model-name.ts";

/** The names that the options give. Throws OptionsError for an alias of no served model or one that equals a model's own name. */
export function configuredNames(
  { alias, unknownModel }: { alias: Readonly<Record<string, string>>; unknownModel: "refuse" | "first" },
  served: readonly string[],
  /** True if models may be found later, so that an alias may name one. */
  more = false,
): ModelNames {
  for (const [name, model] of Object.entries(alias)) {
    checkModelName(isPattern(name) ? name.slice(0, -1) || "*" : name);
    if (served.includes(name))
      throw new OptionsError(`--alias ${name}=${model}: a model has the name '${name}' itself.`);
    if (!served.includes(model) && !more) {
      throw new OptionsError(`--alias ${name}=${model}: no model '${model}' is served, only ${served.join(", ")}.`);
    }
  }
  return { aliases: alias, otherwise: unknownModel === "first" ? (served[0] ?? null) : null };
}
