import { readFile, stat } from "node:fs/promises";
import type { ChatTemplateFile } from "../../../engine/protocol/config.ts";
import { OptionsError } from "../../../platform/options-error.ts";
import type { TemplateSetting } from "../../options/kinds/chat-template-kind.ts";

/** Bytes of a template. Published ones have at most some ten thousand. */
const MOST_BYTES = 1024 * 1024;

/** Chat templates by model. */
export type TemplateFiles = ReadonlyMap<string, ChatTemplateFile>;

/**
 * Reads and parses the chat templates that the options give. A server reads each once, at its start: an engine that restarts
 * renders as before.
 *
 * @param models names of the models of the options
 * @param more true if there may be other models
 * @throws OptionsError that names the file and, for a syntax error, the line
 */
export async function readTemplateFiles(
  settings: readonly TemplateSetting[],
  models: readonly string[],
  more = false,
): Promise<TemplateFiles> {
  const files = new Map<string, ChatTemplateFile>();
  for (const { model, file } of settings) files.set(model ?? onlyModel(models, more, file), await readTemplate(file));
  return files;
}

function onlyModel(models: readonly string[], more: boolean, file: string): string {
  const [first, ...others] = models;
  if (first !== undefined && others.length === 0 && !more) return first;
  throw new OptionsError(
    `--chat-template ${file}: there are several models. Name one: --chat-template ${first}=${file}.`,
  );
}

async function readTemplate(path: string): Promise<ChatTemplateFile> {
  const bytes = await read(path);
  const text = decoded(bytes, path).replaceAll(/\r\n?/g, "\n");
  if (text.trim() === "") throw new OptionsError(`The chat template ${path} is empty.`);
  // Loaded only on demand: most servers have no such file.
  const { templateFault } = await import("../../../engine/template-syntax.ts");
  const fault = templateFault(text);
  if (fault !== null) throw new OptionsError(`The chat template ${path} is not valid Jinja: ${fault}.`);
  return { path, text };
}

async function read(path: string): Promise<Buffer> {
  try {
    // Before it is opened, which would wait for the writer of a pipe.
    const facts = await stat(path);
    if (!facts.isFile()) throw new OptionsError(`The chat template ${path} is not a file.`);
    if (facts.size > MOST_BYTES) {
      throw new OptionsError(`The chat template ${path} has ${facts.size} bytes; at most ${MOST_BYTES} are allowed.`);
    }
    return await readFile(path);
  } catch (error) {
    if (error instanceof OptionsError) throw error;
    const code = error instanceof Error && "code" in error ? error.code : error;
    throw new OptionsError(
      code === "ENOENT"
        ? `There is no chat template ${path}.`
        : `The chat template ${path} cannot be read (${String(code)}).`,
    );
  }
}

function decoded(bytes: Buffer, path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new OptionsError(`The chat template ${path} is not UTF-8 text.`);
  }
}
