import { OptionsError } from "../../../platform/options-error.ts";

const NAME = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$/;

/** What clients may ask for as `model`: it also stands in paths of the API, so nothing in it may climb. */
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

/** Throws OptionsError where a client could not tell one model from another. */
export function refuseTwins(models: readonly { name: string }[]): void {
  const names = new Set<string>();
  for (const { name } of models) {
    if (names.has(name)) {
      throw new OptionsError(`Two models are named '${name}'. Name one of them otherwise: --model other-name=…`);
    }
    names.add(name);
  }
}

/** A valid name as near to `text` as can be. */
export function safeModelName(text: string): string {
  const name = text
    .replace(/[^A-Za-z0-9._:/-]+/g, "-")
    .replace(/\.{2,}/g, ".")
    .replace(/^[^A-Za-z0-9]+/, "")
    .slice(0, 128);
  return name === "" ? "model" : name;
}

/** The name that a file gives to its model: without folder, ending and the number of a part. */
export function nameOfFile(path: string): string {
  const file = path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
  return safeModelName(file.replace(/\.gguf$/i, "").replace(/-\d{5}-of-\d{5}$/, ""));
}
