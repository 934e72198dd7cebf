import { EventSourceParserStream } from "eventsource-parser/stream";
import { z } from "zod";
import { ApiFailure } from "../client/api-client.ts";

/** A piece of an answer. */
export interface AnswerPiece {
  kind: "reasoning" | "content";
  text: string;
}

const chunk = z.object({
  choices: z.array(
    z.object({
      delta: z.object({ content: z.string().nullish(), reasoning_content: z.string().nullish() }),
    }),
  ),
});
const failure = z.object({ error: z.object({ message: z.string(), code: z.string().nullable() }) });

/**
 * The pieces of a streamed chat completion.
 *
 * @throws ApiFailure for an error within the stream, and for one that ends early
 */
export async function* answerPieces(body: ReadableStream<Uint8Array>): AsyncGenerator<AnswerPiece> {
  const events = body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
  for await (const { data } of events) {
    if (data === "[DONE]") return;
    const event: unknown = JSON.parse(data);
    const failed = failure.safeParse(event);
    if (failed.success) throw new ApiFailure(null, failed.data.error.code, failed.data.error.message);
    for (const { delta } of chunk.parse(event).choices) {
      if (delta.reasoning_content) yield { kind: "reasoning", text: delta.reasoning_content };
      if (delta.content) yield { kind: "content", text: delta.content };
    }
  }
  throw new ApiFailure(null, null, "The answer ended before its end was sent.");
}
