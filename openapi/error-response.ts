import { z } from "zod";
import { ERROR_TYPES } from "./errors.ts";

export const errorResponse = z.object({
  error: z.object({
    message: z.string(),
    type: z.enum(ERROR_TYPES),
    param: z.string().nullable().describe("The field at fault, such as `messages[0].content`."),
    code: z.string().nullable().describe("Machine-readable reason; null where the status says enough."),
  }),
});
