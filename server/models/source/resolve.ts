import { existsSync } from "node:fs";
import type { Adapter } from "../../../engine/protocol/config.ts";
import type { DownloadOptions } from "./download.ts";
import { checkGgufFile } from "./gguf-file.ts";
import { hubOf } from "./hub.ts";
import { refuseTwins } from "./model-name.ts";
import { parseModelValue } from "./model-value.ts";

/** A model whose files are on this machine. */
export interface ResolvedModel {
  /** The name in requests. */
  name: string;
  /** The GGUF file; for a split model its first part. */
  path: string;
  adapters: Adapter[];
}

export interface ResolveOptions
  extends Pick<
    DownloadOptions,
    "folder" | "offline" | "log" | "onDownload" | "bytesPerSecond" | "reserve" | "rules" | "timeouts"
  > {
  /** Read for HF_TOKEN, MODEL_ENDPOINT and HF_ENDPOINT, and for proxies. */
  env: Record<string, string | undefined>;
  signal?: AbortSignal;
}

/**
 * The models of all `--model` values in their order. Remote models are downloaded one at a time. Throws OptionsError with
 * advice, if possible before the first download.
 */
export async function resolveModels(values: readonly string[], options: ResolveOptions): Promise<ResolvedModel[]> {
  const models = values.map((value) => parseModelValue(value, existsSync));
  refuseTwins(models);
  const paths = new Map<string, string>();
  for (const model of models) {
    for (const adapter of model.adapters) await checkGgufFile(adapter.path);
    if (model.kind === "path") paths.set(model.name, await checkGgufFile(model.path));
  }
  const { env, signal = new AbortController().signal } = options;
  for (const model of models) {
    if (model.kind === "path") continue;
    // Loaded only on demand: with its HTTP client it is a tenth of all modules of a start.
    const { downloadModel } = await import("./download.ts");
    paths.set(model.name, await downloadModel(model, { ...options, hub: hubOf(env), signal }));
  }
  return models.map(({ name, adapters }) => ({ name, path: paths.get(name)!, adapters }));
}
