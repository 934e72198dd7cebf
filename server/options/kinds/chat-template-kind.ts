import { z } from "zod";
import type { Kind } from "./kind.ts";

/** A file that replaces the chat template of a model. */
export interface TemplateSetting {
  /** Null for the only model of the server. */
  model: string | null;
  file: string;
}

const FILE = z.string().trim().min(1).max(4096);

/** Files as `model=file` or `file`, divided at the first `=`, which no model's name has; in the file also a map. */
export function chatTemplates(): Kind<TemplateSetting[]> {
  const one = FILE.regex(/^[^=]+(=.*[^=\s])?$/).transform((text): TemplateSetting => {
    const divider = text.indexOf("=");
    return divider < 0
      ? { model: null, file: text }
      : { model: text.slice(0, divider).trim(), file: text.slice(divider + 1).trim() };
  });
  const named = z
    .record(z.string().trim().min(1).max(256), FILE)
    .transform((map) => Object.entries(map).map(([model, file]): TemplateSetting => ({ model, file })));
  return {
    metavar: "[model=]file",
    allowed: "a file, with `model=` before it to name the model; in the file a list, or a map of models",
    schema: z.union([one.transform((setting) => [setting]), z.array(one).max(1000), named]),
    list: true,
  };
}
