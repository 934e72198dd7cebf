import type { ReadyModel } from "../admission/ready-model.ts";
import type { Compaction, GenerationRequest } from "./request.ts";
import { hasTokens, withinContext } from "./truncation.ts";

/** The part of the context that a prompt without a bound of its own may have. */
const PROMPT_SHARE = 3 / 4;

/** The compaction that a request needs, with a summary that fits into the context; null for none. */
export async function neededCompaction(
  { compaction, submissions: [first] }: Pick<GenerationRequest, "compaction" | "submissions">,
  ready: ReadyModel,
  signal: AbortSignal,
): Promise<Compaction | null> {
  if (compaction === undefined || first === undefined) return null;
  const bound = compaction.bound ?? Math.floor(ready.facts.context * PROMPT_SHARE);
  if (await hasTokens(first.prompt, bound, ready, signal)) return null;
  return { ...compaction, summary: await withinContext(compaction.summary, ready, signal) };
}
