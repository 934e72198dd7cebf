import { open, readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { OptionsError } from "../../../platform/options-error.ts";
import { nearest } from "../../options/nearest.ts";

const SPLIT = /-(\d{5})-of-(?!00000)(\d{5})\.gguf$/;

/**
 * Checks that a GGUF file exists with all parts and starts as GGUF. Returns the path to load: for a split model that of the
 * first part.
 */
export async function checkGgufFile(path: string): Promise<string> {
  const parts = partsOf(path);
  for (const part of parts) await checkPart(part, path);
  return parts[0]!;
}

/** All parts of a split model, from the path of any of them; for another model its own path. */
export function partsOf(path: string): string[] {
  const match = SPLIT.exec(path);
  if (match === null) return [path];
  const count = Number(match[2]);
  const stem = path.slice(0, match.index);
  return Array.from({ length: count }, (_, i) => `${stem}-${String(i + 1).padStart(5, "0")}-of-${match[2]}.gguf`);
}

async function checkPart(part: string, asked: string): Promise<void> {
  let head: string;
  try {
    const file = await open(part);
    try {
      const facts = await file.stat();
      if (facts.isDirectory()) throw new OptionsError(`${part} is a folder, not a model.${await modelsIn(part, "")}`);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(24), 0, 24, 0);
      head = buffer.toString("latin1", 0, bytesRead);
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof OptionsError) throw error;
    throw await unreadable(part, asked, error);
  }
  if (head.startsWith("GGUF")) return;
  if (head.startsWith("version https://git-lfs")) {
    throw new OptionsError(`${part} is only a Git LFS pointer. Run \`git lfs pull\` in its folder to get the model.`);
  }
  throw new OptionsError(
    head === ""
      ? `${part} is empty. Copy or download the model again.`
      : `${part} is not a GGUF file: it does not begin with "GGUF". Give a model in GGUF format.`,
  );
}

async function unreadable(part: string, asked: string, error: unknown): Promise<OptionsError> {
  const code = error instanceof Error && "code" in error ? error.code : null;
  if (code !== "ENOENT" && code !== "ENOTDIR") {
    return new OptionsError(`${part} cannot be read (${String(code ?? error)}).`);
  }
  if (part !== asked)
    return new OptionsError(`${asked} is one part of a split model, and the part ${part} is missing.`);
  if (/^[\w.-]+\/[\w.-]+(:[\w.-]+)?$/.test(asked) && !(await isFolder(dirname(asked)))) {
    return new OptionsError(`There is no model file ${asked}. If it is on Hugging Face, write hf:${asked}.`);
  }
  const there = await modelsIn(dirname(asked), basename(asked));
  const bare = /^[\w.:-]+$/.test(asked) && !/\.gguf$/i.test(asked);
  const advice = bare ? " A model is named by its file or by hf:owner/repo:Q4_K_M, not by a short name." : "";
  return new OptionsError(`There is no model file ${asked}.${there}${advice}`);
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (facts) => facts.isDirectory(),
    () => false,
  );
}

async function modelsIn(folder: string, wanted: string): Promise<string> {
  const all = await readdir(folder).catch(() => null);
  if (all === null) return ` There is no folder ${folder} either.`;
  const models = all.filter((name) => /\.gguf$/i.test(name)).sort();
  if (models.length === 0) return " No .gguf file is in its folder.";
  const near = wanted === "" ? null : nearest(wanted, models);
  if (near !== null) return ` Did you mean ${join(folder, near)}?`;
  const more = models.length > 10 ? `, and ${models.length - 10} more` : "";
  return ` In ${folder} are: ${models.slice(0, 10).join(", ")}${more}.`;
}
