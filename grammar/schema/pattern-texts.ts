import { patternRule, UnsupportedPattern } from "../language/pattern.ts";
import { TooManyStates } from "../language/too-many-states.ts";
import { MOST_REPETITIONS } from "./keyword-numbers.ts";
import type { SchemaPath } from "./keywords.ts";
import { UnsupportedSchema } from "./unsupported-schema.ts";

/** The right-hand side in GBNF for the texts of a pattern, without escapes of JSON. @throws UnsupportedSchema */
export function patternTexts(pattern: unknown, path: SchemaPath): string {
  if (typeof pattern !== "string") throw new UnsupportedSchema(path, "expected a string.");
  return enforceable(path, () => patternRule(pattern, (set) => set.gbnf, MOST_REPETITIONS));
}

/** The result of `make`, whose errors become those of the keyword. @param advice what can be enforced. @throws UnsupportedSchema */
export function enforceable<T>(path: SchemaPath, make: () => T, advice = ""): T {
  try {
    return make();
  } catch (error) {
    if (error instanceof UnsupportedPattern) throw new UnsupportedSchema(path, error.message);
    if (!(error instanceof TooManyStates)) throw error;
    throw new UnsupportedSchema(path, `its combination with the keywords beside it is too large${advice}.`);
  }
}
