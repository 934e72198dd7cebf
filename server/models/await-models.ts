import type { ModelFacts } from "../../engine/protocol/config.ts";
import type { ServedModel } from "./model-set.ts";

/**
 * Waits until every model is ready or has failed, except those that are loaded on demand, and prints the failures with their
 * reasons. Null if every model failed.
 */
export async function loadedOf(
  models: readonly ServedModel[],
  terminal: { write(text: string): void } = process.stderr,
): Promise<ModelFacts[] | null> {
  const loading = models.filter(({ engine }) => engine.state.name !== "unloaded");
  const results = await Promise.allSettled(loading.map(({ engine }) => engine.ready()));
  const failed = models.filter(({ engine }) => engine.state.name === "failed");
  const reasons = failed.map(whyFailed).join("\n");
  if (models.length > 0 && failed.length === models.length) {
    terminal.write(`No model could be loaded:\n${reasons}\n`);
    return null;
  }
  if (failed.length > 0) terminal.write(`Warning: serving without the models that could not be loaded:\n${reasons}\n`);
  return results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
}

function whyFailed({ id, engine }: ServedModel): string {
  return `  ${id}: ${engine.state.name === "failed" ? engine.state.reason.replaceAll("\n", "\n    ") : engine.state.name}`;
}
