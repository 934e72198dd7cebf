import { z } from "zod";

export const errorResponse = z.object({
  error: z.object({
    message: z.string(),
    type: z.enum([
      "invalid_request_error",
      "authentication_error",
      "permission_error",
      "not_found_error",
      "rate_limit_error",
      "insufficient_quota",
      "server_error",
    ]),
    param: z.string().nullable().describe("The field at fault, such as `messages[0].content`."),
    code: z.string().nullable(),
  }),
});
