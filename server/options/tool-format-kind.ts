import { z } from "zod";
import { TOOL_FORMAT_NAMES } from "../../engine/tools/formats.ts";
import type { Kind } from "./kind.ts";

const format = z.string().refine((name) => TOOL_FORMAT_NAMES.includes(name));

/** `model=format`; the last `=` divides, for a name may hold one. */
const written = z
  .string()
  .trim()
  .regex(/^.+=[\w.-]+$/)
  .transform((text) => {
    const divider = text.lastIndexOf("=");
    return [text.slice(0, divider), text.slice(divider + 1)] as const;
  });

/** Tool formats by model; in the file a map. */
export function toolFormats(): Kind<Record<string, string>> {
  const fromTexts = z
    .union([written.transform((one) => [one]), z.array(written).max(1000)])
    .transform((list) => Object.fromEntries(list));
  return {
    metavar: "model=format",
    allowed: `model=format with a format of ${TOOL_FORMAT_NAMES.join(", ")}; in the file a map`,
    schema: z.union([fromTexts, z.record(z.string(), z.unknown())]).pipe(z.record(z.string().min(1).max(256), format)),
    list: true,
  };
}
