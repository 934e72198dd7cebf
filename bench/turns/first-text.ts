import { json } from "../target/call.ts";
import type { Target } from "../target/target.ts";

/** An event with text: of a response by its type, of a chat completion by its delta. */
const TEXT = /^event: response\.output_text\.delta$|^data: .*"delta":\{[^}]*"content":"[^"]/m;

/** Milliseconds from sending a streamed request to the read of its first event with text. Reads the stream to its end. */
export async function firstTextMs(target: Target, path: string, body: object): Promise<number> {
  const init = json(body);
  const sentAt = performance.now();
  const response = await fetch(new URL(path, target.base), init);
  if (!response.ok || response.body === null) throw new Error(`${target.label}: ${response.status} for ${path}`);
  let text = "";
  let first = Number.NaN;
  for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
    if (!Number.isNaN(first)) continue;
    text += part;
    if (TEXT.test(text)) first = performance.now() - sentAt;
  }
  if (Number.isNaN(first)) throw new Error(`${target.label}: a stream of ${path} had no text`);
  return first;
}
