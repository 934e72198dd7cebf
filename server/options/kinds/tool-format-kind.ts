import { z } from "zod";
import { TOOL_FORMAT_NAMES } from "../../../engine/tools/format-list.ts";
import { byName, type Kind } from "./kind.ts";

/** Tool formats by model. */
export function toolFormats(): Kind<Record<string, string>> {
  const format = z.string().refine((name) => TOOL_FORMAT_NAMES.includes(name));
  return byName(
    "model=format",
    `model=format with a format of ${TOOL_FORMAT_NAMES.join(", ")}; in the file a map`,
    format,
  );
}
