import type { Target } from "../target/target.ts";
import type { BatchObject } from "./batch-job.ts";
import type { BatchAccount } from "./books.ts";

/** Account of a terminal batch from its object and its files. `lines` is the number of lines of its input file. */
export async function accountOf(target: Target, batch: BatchObject, lines: number): Promise<BatchAccount> {
  const seen = new Map<string, number>();
  let filePromptTokens = 0;
  let fileCompletionTokens = 0;
  for (const id of [batch.output_file_id, batch.error_file_id]) {
    if (id === null) continue;
    const text = await (await fetch(new URL(`files/${id}/content`, target.base))).text();
    for (const line of text.split("\n").filter(Boolean)) {
      const { custom_id, response } = JSON.parse(line);
      seen.set(custom_id, (seen.get(custom_id) ?? 0) + 1);
      filePromptTokens += response?.body?.usage?.prompt_tokens ?? 0;
      fileCompletionTokens += response?.body?.usage?.completion_tokens ?? 0;
    }
  }
  // a batch that was cancelled before its file was read has no lines
  const due = batch.request_counts.total === 0 ? 0 : lines;
  return {
    status: batch.status,
    lines,
    missing: due - [...seen.keys()].length,
    twice: [...seen.values()].filter((count) => count > 1).length,
    promptTokens: batch.usage.input_tokens,
    completionTokens: batch.usage.output_tokens,
    filePromptTokens,
    fileCompletionTokens,
  };
}
