import { OptionsError } from "../../../platform/options-error.ts";

const NAME = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$/;

/** Valid names of models. A name is part of API paths, so that `..` is not allowed. */
export function isModelName(name: string): boolean {
  return NAME.test(name) && !name.includes("..");
}

export function checkModelName(name: string): void {
  if (isModelName(name)) return;
  throw new OptionsError(
    `'${name}' cannot be the name of a model: 1 to 128 letters, digits and . _ : / - that begin with a letter or digit, ` +
      "without '..'.",
  );
}

/** Throws OptionsError for two models of one name. */
export function refuseTwins(models: readonly { name: string }[]): void {
  const names = new Set<string>();
  for (const { name } of models) {
    if (names.has(name)) {
      throw new OptionsError(`Two models are named '${name}'. Rename one of them: --model other-name=…`);
    }
    names.add(name);
  }
}

/** The valid name nearest to `text`. */
export function safeModelName(text: string): string {
  const name = text
    .replace(/[^A-Za-z0-9._:/-]+/g, "-")
    .replace(/\.{2,}/g, ".")
    .replace(/^[^A-Za-z0-9]+/, "")
    .slice(0, 128);
  return name === "" ? "model" : name;
}

/** The default name of a model: its file name without folder, extension and part number. */
export function nameOfFile(path: string): string {
  return nameOfPath(path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1));
}

/** The same with the folders of the path, for a file in a subfolder of the folder of models. */
export function nameOfPath(path: string): string {
  return safeModelName(path.replace(/\.gguf$/i, "").replace(/-\d{5}-of-\d{5}$/, ""));
}
