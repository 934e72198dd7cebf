import { invalidRequest } from "../api-error.ts";

/** Throws 400 for the first token id that a model of so many tokens does not have. */
export function checkVocabulary(tokens: readonly number[], param: string, vocabulary: number): void {
  const bad = tokens.find((token) => token >= vocabulary);
  if (bad === undefined) return;
  const message = `Invalid '${param}': token ${bad} is not one of the model's ${vocabulary}.`;
  throw invalidRequest("invalid_value", param, message);
}
