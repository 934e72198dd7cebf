import { z } from "zod";
import { OptionsError } from "../../../platform/options-error.ts";
import { filePrefix } from "./download-record.ts";
import { partsOf } from "./gguf-file.ts";
import type { HttpClient } from "./http-client.ts";
import { type Hub, hubUrl, manifestUrl } from "./hub.ts";
import type { RemoteModel } from "./model-value.ts";
import { request } from "./remote-file.ts";

/** The files that make a remote model. */
export interface RemoteFiles {
  /** Addresses; `name` is the file name in the folder of downloads. */
  files: { url: string; name: string }[];
  /** True if they are pieces of one GGUF file, which have to be joined. */
  pieces: boolean;
}

const MANIFEST = z.object({ ggufFile: z.object({ rfilename: z.string().min(1) }) });
/** User agent to which the hub names the file of a quantization: github.com/ggml-org/llama.cpp/pull/11195. */
const MANIFEST_HEADERS = { "user-agent": "llama-cpp", accept: "application/json" };
const MAX_MANIFEST = 1024 * 1024;
const PIECE = /\.part(\d+)of([1-9]\d*)$/;
/** Maximum files of one model. All of them are open during the download. */
const MOST_FILES = 512;

/** All files of a `--model` value; the hub is asked for the file of a quantization. */
export async function remoteFilesOf(
  model: RemoteModel,
  deps: { hub: Hub; web: HttpClient; signal: AbortSignal },
): Promise<RemoteFiles> {
  const first = model.hub === null ? model.uri : await fileOnHub(model, deps);
  const { pathname } = new URL(first);
  const paths = piecesOf(pathname) ?? partsOf(pathname);
  if (paths.length > MOST_FILES) {
    throw new OptionsError(
      `${model.uri} is one of more than ${MOST_FILES} files, the most that a model may have. ` +
        "Name a GGUF file that is whole or has fewer parts.",
    );
  }
  if (paths.length > 1 && model.sha256 !== null) {
    throw new OptionsError(`${model.uri} has several files, and #sha256= is for one.`);
  }
  const files = paths.map((path) => {
    const url = new URL(first);
    url.pathname = path;
    return { url: url.href, name: fileName(model.uri, path) };
  });
  return { files, pieces: PIECE.test(pathname) };
}

/** The parts of one model keep a common stem. */
function fileName(uri: string, path: string): string {
  const own = decodeURIComponent(path.slice(path.lastIndexOf("/") + 1)).replace(/[^\w.-]+/g, "-");
  return filePrefix(uri) + own.slice(-180);
}

async function fileOnHub(
  model: RemoteModel,
  deps: { hub: Hub; web: HttpClient; signal: AbortSignal },
): Promise<string> {
  const place = model.hub!;
  if (place.file !== null) return hubUrl(deps.hub, place, place.file);
  const answer = await request(model, manifestUrl(deps.hub, place), MANIFEST_HEADERS, deps);
  let text = "";
  for await (const chunk of answer.body.setEncoding("utf8")) {
    text += String(chunk);
    if (text.length > MAX_MANIFEST) break;
  }
  const manifest = MANIFEST.safeParse(parseJson(text));
  if (manifest.success) return hubUrl(deps.hub, place, manifest.data.ggufFile.rfilename);
  throw new OptionsError(
    `${model.uri} cannot be downloaded: the hub names no GGUF file for it. Name the file: hf:${place.owner}/${place.repo}/….gguf.`,
  );
}

/** All pieces of a GGUF file from the name of any of them, not far beyond the maximum; null for another file. */
function piecesOf(path: string): string[] | null {
  const match = PIECE.exec(path);
  if (match === null) return null;
  const [, number = "", count = ""] = match;
  const stem = path.slice(0, match.index);
  return Array.from(
    { length: Math.min(Number(count), MOST_FILES + 1) },
    (_, i) => `${stem}.part${String(i + 1).padStart(number.length, "0")}of${count}`,
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
