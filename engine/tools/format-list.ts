import { deepseek, deepseekV31 } from "./formats/deepseek.ts";
import { deepseekV4, deepseekV32 } from "./formats/dsml.ts";
import { functionary, functionaryRecipients } from "./formats/functionary.ts";
import { functionGemma, gemma4 } from "./formats/gemma.ts";
import { glm } from "./formats/glm.ts";
import { harmony } from "./formats/harmony.ts";
import { hermes } from "./formats/hermes.ts";
import { kimi } from "./formats/kimi.ts";
import { llama } from "./formats/llama.ts";
import { mistral, mistralArgs } from "./formats/mistral.ts";
import { pythonic } from "./formats/pythonic.ts";
import { qwenCoder } from "./formats/qwen-coder.ts";
import type { ToolFormat } from "./syntax/format.ts";
import { toolCode } from "./syntax/tool-code.ts";

/** In the order in which they are tried for a template: a format whose marks occur in others comes after these. */
const FORMATS: readonly ToolFormat[] = [
  harmony,
  kimi,
  deepseek,
  deepseekV31,
  deepseekV32,
  deepseekV4,
  mistral,
  mistralArgs,
  functionGemma,
  gemma4,
  glm,
  qwenCoder,
  hermes,
  functionaryRecipients,
  functionary,
  pythonic,
  llama,
  toolCode,
];

export const TOOL_FORMAT_NAMES: readonly string[] = FORMATS.map(({ name }) => name).sort();

/** @throws Error for a name that is not one of `TOOL_FORMAT_NAMES` */
export function toolFormat(name: string): ToolFormat {
  const format = FORMATS.find((one) => one.name === name);
  if (format === undefined) throw new Error(`There is no tool format '${name}'.`);
  return format;
}

/** The format that a template's text asks for; null for none of the known ones. */
export function recognise(template: string): ToolFormat | null {
  return FORMATS.find((format) => format.fits(template)) ?? null;
}
