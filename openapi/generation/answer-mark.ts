import { z } from "zod";

/** Facts of an answer that have no field in OpenAI's API. */
export const answerMark = z
  .object({ upstream: z.string().describe("The name of the upstream that computed the answer.") })
  .optional()
  .describe("Extension. Absent from answers of models that this server computes.");

/** The field of an answer that an upstream of this name computed; none without a name. */
export function markOf(upstream: string | undefined): { nightshift?: z.infer<typeof answerMark> } {
  return upstream === undefined ? {} : { nightshift: { upstream } };
}
