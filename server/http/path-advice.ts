/** Paths below the base URL that exist nowhere else: without /v1, the base URL is wrong. */
const BELOW_V1 = /^\/(chat\/completions|completions|embeddings|rerank|messages|models|files|uploads|batches)(\/|$)/;

/** Paths of other APIs. */
const OTHERS: readonly [RegExp, string][] = [
  [/^(\/v1)?\/(responses|conversations)(\/|$)/, "The Responses API is"],
  [/^(\/v1)?\/(assistants|threads)(\/|$)/, "The Assistants API is"],
  [
    /^(\/v1)?\/(audio|images|videos|moderations|realtime|fine_tuning|vector_stores|evals)(\/|$)/,
    "This part of OpenAI's API is",
  ],
];

/** Reached only where the option is off. */
const OLLAMA = /^\/api\/(chat|generate|tags|show|ps|pull|embed|embeddings|version)$/;

/** The likely mistake in an unknown path, as a sentence with a space before it; empty where none is known. */
export function pathAdvice(path: string): string {
  if (path.startsWith("/v1/v1/")) return " The base URL has /v1 twice.";
  if (BELOW_V1.test(path)) return " The base URL lacks /v1 at its end.";
  if (OLLAMA.test(path)) return " Ollama's API is not served; --ollama on serves it.";
  const other = OTHERS.find(([pattern]) => pattern.test(path));
  return other === undefined ? "" : ` ${other[1]} not served; chat completions are, at /v1/chat/completions.`;
}
