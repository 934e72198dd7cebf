import type { Adapter } from "../../../engine/protocol/config.ts";
import { OptionsError } from "../../../platform/options-error.ts";
import { splitAdapters } from "./adapters.ts";
import { checkModelName, isModelName, nameOfFile, safeModelName } from "./model-name.ts";

/** One parsed value of `--model`. */
export type ModelValue = ModelSource & { adapters: Adapter[] };

type ModelSource = { name: string; kind: "path"; path: string } | RemoteSource;

interface RemoteSource {
  name: string;
  kind: "remote";
  /** The key of its download record. */
  uri: string;
  /** True if it is on a Hugging Face hub, which may need a token. */
  hub: HubFile | null;
  /** Hex; the hash that the user specified. */
  sha256: string | null;
}

export type RemoteModel = Extract<ModelValue, { kind: "remote" }>;

/** `file` is null if the hub chooses it by the quantization `tag`. */
export interface HubFile {
  owner: string;
  repo: string;
  file: string | null;
  tag: string | null;
  branch: string;
}

const HUB = /^(?:(?:hf|huggingface):(?:\/\/)?|(?:hf|huggingface)\.co\/)/i;
const URL_SCHEME = /^https?:\/\//i;

/**
 * `name=source` or `source`; a source is a path, `hf:owner/repo:Q4_K_M`, `hf:owner/repo/file.gguf#branch` or an http(s)
 * URL of a .gguf file, behind which `#sha256=…` may stand, and adapters may follow it (`+adapter.gguf@0.8`). `exists` is true for an existing path, since a path may have a `=` in it.
 */
export function parseModelValue(value: string, exists: (path: string) => boolean): ModelValue {
  const at = value.indexOf("=");
  const bare = at < 0 || isRemote(value) || exists(value);
  const alias = bare ? null : value.slice(0, at);
  if (alias !== null && !isModelName(alias) && (alias.includes("/") || alias.startsWith("."))) {
    // A missing path is the more likely meaning than a name.
    return parseAdapted(value, null, exists);
  }
  if (alias !== null) checkModelName(alias);
  const source = bare ? value : value.slice(at + 1);
  if (source === "") throw new OptionsError(`--model ${value}: a path or URI must follow the '='.`);
  return parseAdapted(source, alias, exists);
}

/** The default name of a model, from its file and its adapters. */
function parseAdapted(source: string, alias: string | null, exists: (path: string) => boolean): ModelValue {
  const { base, adapters } = splitAdapters(source, exists);
  const parsed = parseSource(base);
  const name = alias ?? safeModelName([parsed.name, ...adapters.map(({ path }) => nameOfFile(path))].join("-"));
  return { ...parsed, name, adapters };
}

function isRemote(text: string): boolean {
  return HUB.test(text) || URL_SCHEME.test(text);
}

function parseSource(source: string): ModelSource {
  if (HUB.test(source)) return parseHub(source);
  if (URL_SCHEME.test(source)) return parseUrl(source);
  return { name: nameOfFile(source), kind: "path", path: source };
}

function parseHub(source: string): RemoteSource {
  const [path = "", branch = "main"] = source.replace(HUB, "").split("#");
  const [owner = "", repoAndTag = "", ...parts] = path.split("/");
  const [repo = "", tag] = repoAndTag.split(":");
  const file = parts.join("/");
  const bad =
    owner === "" || repo === "" || (file !== "" && (tag !== undefined || !/\.gguf(\.part\d+of\d+)?$/i.test(file)));
  if (bad) {
    throw new OptionsError(
      `'${source}' is not a model on Hugging Face: write hf:owner/repo:Q4_K_M for a quantization, or ` +
        "hf:owner/repo/file.gguf for a file.",
    );
  }
  const name = file === "" ? safeModelName(repo.replace(/-gguf$/i, "")) : nameOfFile(file);
  return {
    name,
    kind: "remote",
    uri: source.replace(HUB, "hf:"),
    hub: { owner, repo, file: file === "" ? null : file, tag: tag ?? null, branch },
    sha256: null,
  };
}

function parseUrl(source: string): RemoteSource {
  const url = URL.canParse(source) ? new URL(source) : null;
  if (url === null || url.pathname === "/") throw noFile(source);
  const sha256 = hashIn(url, source);
  url.hash = "";
  if (/^(www\.)?(huggingface|hf)\.co$/i.test(url.hostname)) {
    const [owner, repo, how, branch, ...parts] = pathOf(url, source).slice(1).split("/");
    if (how !== "resolve" && how !== "blob") return parseHub(`hf:${owner}/${repo}`);
    return { ...parseHub(`hf:${owner}/${repo}/${parts.join("/")}#${branch}`), sha256 };
  }
  if (!/\.gguf(\.part\d+of\d+)?$/i.test(url.pathname)) throw noFile(source);
  return { name: nameOfFile(pathOf(url, source)), kind: "remote", uri: url.href, hub: null, sha256 };
}

/** The decoded path; an invalid sequence such as `%ZZ` stays as it is. */
function pathOf(url: URL, source: string): string {
  try {
    return decodeURIComponent(url.pathname);
  } catch {
    throw noFile(source);
  }
}

function hashIn({ hash }: URL, source: string): string | null {
  if (!hash.startsWith("#sha256=")) return null;
  const hex = hash.slice("#sha256=".length).toLowerCase();
  if (/^[0-9a-f]{64}$/.test(hex)) return hex;
  throw new OptionsError(`'${source}': #sha256= takes 64 hexadecimal digits.`);
}

function noFile(source: string): OptionsError {
  return new OptionsError(`'${source}' is not the address of a .gguf file.`);
}
