import { expect, it } from "vitest";
import { validate } from "../../../../openapi/generation/validate.ts";
import { unusedSamplerFields } from "../../../../server/generation/unused-samplers.ts";
import { completion } from "../../openapi/body-faults.ts";

it.each<[object, string[]]>([
  [{ temperature: 1, top_k: 5, dry_multiplier: 1 }, []],
  [{ temperature: 1, top_k: 5, samplers: ["top_k"] }, ["temperature"]],
  [{ frequency_penalty: 1, dry_base: 2, top_p: null, samplers: "kt" }, ["frequency_penalty", "dry_base"]],
  [{ mirostat: 0, top_k: 5, mirostat_tau: 3 }, []],
  [{ mirostat: 2, top_k: 5, min_keep: 1, temperature: 1, repeat_penalty: 1.1, mirostat_tau: 3 }, ["top_k", "min_keep"]],
  [{ mirostat: 1, dynatemp_range: 1, xtc_threshold: 0.1 }, ["xtc_threshold", "dynatemp_range"]],
  [{ mirostat: 1, dynatemp_range: 1, temperature: 1, samplers: [] }, ["temperature", "dynatemp_range"]],
])("%j", (fields, names) => {
  const body = validate(completion, { model: "demo", prompt: "", ...fields });
  expect(unusedSamplerFields(body)).toEqual(names);
});
