import { z } from "zod";

/** Facts of an answer that have no field in OpenAI's API. */
export const answerMark = z
  .object({ upstream: z.string().describe("The name of the upstream that computed the answer.") })
  .optional()
  .describe("Extension. Absent from answers of models that this server computes.");

/** The same where the answer may be that of a batch line. */
export const lineMark = z
  .object({
    tier: z.literal("batch").optional().describe("In the background and in batches: the tier that is used."),
    upstream: z.string().optional().describe("The upstream that computed the answer. Not in the background."),
    ignored: z.array(z.string()).optional().describe("With `tier`: fields of the request that are not used."),
  })
  .optional()
  .describe("Extension.");

/** The field of an answer that an upstream of this name computed; none without a name. */
export function markOf(upstream: string | undefined): { nightshift?: z.infer<typeof answerMark> } {
  return upstream === undefined ? {} : { nightshift: { upstream } };
}
