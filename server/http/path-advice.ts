/** What clients ask for below their base URL, and that is not served elsewhere. */
const BELOW_V1 = /^\/(chat\/completions|completions|embeddings|rerank|models|files|uploads|batches)(\/|$)/;

/** What is most likely wrong with a path that is not served, as a sentence with a space before it; else nothing. */
export function pathAdvice(path: string): string {
  if (path.startsWith("/v1/v1/")) return " The base URL has /v1 twice.";
  if (BELOW_V1.test(path)) return " The base URL lacks /v1 at its end.";
  if (/^(\/v1)?\/responses(\/|$)/.test(path)) {
    return " The Responses API is not served; chat completions are, at /v1/chat/completions.";
  }
  return "";
}
