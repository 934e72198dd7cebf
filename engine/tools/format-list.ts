import type { FunctionTool } from "../protocol/prompt.ts";
import { apertus } from "./formats/apertus.ts";
import { cohere } from "./formats/cohere.ts";
import { deepseek, deepseekV31 } from "./formats/deepseek.ts";
import { functionary, functionaryRecipients } from "./formats/functionary.ts";
import { functionGemma, gemma4 } from "./formats/gemma/gemma.ts";
import { glm } from "./formats/glm.ts";
import { harmony } from "./formats/harmony.ts";
import { hermes } from "./formats/hermes.ts";
import { deepseekV4, deepseekV32, minimax } from "./formats/invoke.ts";
import { kimi } from "./formats/kimi.ts";
import { kimiK3 } from "./formats/kimi-k3.ts";
import { llama } from "./formats/llama.ts";
import { apriel, commandR, firefunction, gigachat, gigachat31, minimaxM1, nemotron } from "./formats/marked-json.ts";
import { minicpm } from "./formats/minicpm.ts";
import { minimaxM3 } from "./formats/minimax-m3.ts";
import { mistral, mistralArgs } from "./formats/mistral.ts";
import { muse } from "./formats/muse.ts";
import { pythonic } from "./formats/pythonic.ts";
import { qwenCoder, seed } from "./formats/qwen-coder.ts";
import { ToolParser } from "./parser.ts";
import type { ToolFormat } from "./syntax/format.ts";
import { toolCode } from "./syntax/tool-code.ts";

/** In the order in which they are tried for a template: a format whose marks occur in others comes after these. */
const FORMATS: readonly ToolFormat[] = [
  harmony,
  muse,
  kimi,
  kimiK3,
  deepseek,
  deepseekV31,
  deepseekV32,
  deepseekV4,
  minimaxM3,
  minimax,
  mistral,
  mistralArgs,
  cohere,
  commandR,
  apertus,
  nemotron,
  apriel,
  minimaxM1,
  firefunction,
  gigachat31,
  gigachat,
  functionGemma,
  gemma4,
  glm,
  seed,
  qwenCoder,
  minicpm,
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

/** A call by which formats are tried. */
export const PROBE_CALL = { name: "zebra_tool", arguments: { stripes: "black and white" } };
const PROBE_TOOL: FunctionTool = {
  type: "function",
  function: {
    name: PROBE_CALL.name,
    parameters: { type: "object", properties: { stripes: { type: "string" } }, required: ["stripes"] },
  },
};

/** The formats that read a call of `PROBE_CALL` from a text, in their order. */
export function readingFormats(text: string): ToolFormat[] {
  return FORMATS.filter((format) => {
    const parser = new ToolParser(format, [PROBE_TOOL]);
    const events = [...parser.push(text), ...parser.finish()];
    const first = events.findIndex(({ kind }) => kind === "call");
    const [call, args] = events.slice(first, first + 2);
    if (first === -1 || call?.kind !== "call" || args?.kind !== "arguments") return false;
    return call.name === PROBE_CALL.name && isProbe(args.text);
  });
}

function isProbe(json: string): boolean {
  try {
    return JSON.stringify(JSON.parse(json)) === JSON.stringify(PROBE_CALL.arguments);
  } catch {
    return false;
  }
}

/** The format that a template's text names; null for none of the known ones. */
export function recognise(template: string): ToolFormat | null {
  return FORMATS.find((format) => format.fits(template)) ?? null;
}
