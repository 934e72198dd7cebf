import type { RequestFeature } from "../../protocol/config.ts";
import type { UpstreamError } from "./error-body.ts";

/** A part of requests that an upstream refuses with every request, since it was started without it. */
export interface RefusedFeature {
  feature: RequestFeature;
  /** For its operator. */
  remedy: string;
}

/** From the first character on: errors may quote the client, whose text must not turn off anything for others. */
const WORDS: readonly (readonly [RegExp, RefusedFeature])[] = [
  [
    /^("auto" tool choice|tool_choice="?[\w.-]{1,128}"?|(named|required) tool choice) requires --(enable-auto-tool-choice|tool-call-parser)\b/i,
    { feature: "tools", remedy: "start it with --enable-auto-tool-choice and --tool-call-parser" },
  ],
  [/^tools param requires --jinja flag/, { feature: "tools", remedy: "start it with --jinja" }],
  [/^\S{1,256} does not support tools$/, { feature: "tools", remedy: "serve a model whose chat template has tools" }],
];

/** The feature that the error of vLLM, llama-server or Ollama names; null for any other error. */
export function refusedFeature(error: UpstreamError | null): RefusedFeature | null {
  const [, refused = null] = WORDS.find(([words]) => words.test(error?.message ?? "")) ?? [];
  return refused;
}
