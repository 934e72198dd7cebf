import type { Adapter } from "../../../engine/protocol/config.ts";
import { OptionsError } from "../../../platform/options-error.ts";

const ADAPTER = /^(?<path>.+\.gguf)(?:@(?<scale>[^@]*))?$/i;
/** The end of a model's source: a `+` after anything else is part of a path. */
const BASE = /\.gguf$|^(hf|huggingface|https?)[:.]/i;
const SCALE = /^-?\d{1,3}(\.\d{1,6})?$/;

/**
 * Parses `base+adapter.gguf@0.8+…`. Adapters are files on this machine, each with a scale, by default 1. `exists` checks a
 * path, for paths that contain a `+`.
 */
export function splitAdapters(
  source: string,
  exists: (path: string) => boolean,
): { base: string; adapters: Adapter[] } {
  const [base = "", ...rest] = source.split("+");
  const groups = rest.map((part) => ADAPTER.exec(part)?.groups);
  if (exists(source) || !BASE.test(base)) return { base: source, adapters: [] };
  const adapters = groups.flatMap((group) => (group?.path ? [{ path: group.path, scale: scaleOf(group.scale) }] : []));
  return adapters.length === rest.length ? { base, adapters } : { base: source, adapters: [] };
}

function scaleOf(text: string | undefined): number {
  if (text === undefined) return 1;
  if (SCALE.test(text)) return Number(text);
  throw new OptionsError(`'${text}' is not the scale of an adapter: a number such as 0.8 follows the '@'.`);
}
