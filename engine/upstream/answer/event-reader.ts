import { createParser } from "eventsource-parser";
import { UnreadableAnswer } from "./answer-reader.ts";

/** Characters of one event; of a token with 20 alternatives an engine writes some kilobytes. */
export const MOST_EVENT_CHARACTERS = 1024 * 1024;
/** Bytes of a whole answer. */
export const MOST_STREAM_BYTES = 256 * 1024 * 1024;

const DONE = "[DONE]";

/** An event of a stream: its parsed data, or the mark of its end. */
export type UpstreamEvent = { done: true } | { done: false; data: unknown };

/**
 * The events of a body of server-sent events, each as its parsed JSON, in lists of those that came at once; ends with the body.
 * Throws UnreadableAnswer for data that is not JSON, and above the bounds on an event and on the body.
 */
export async function* readEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<readonly UpstreamEvent[]> {
  let ready: UpstreamEvent[] = [];
  let tooLong = false;
  const parser = createParser({
    maxBufferSize: MOST_EVENT_CHARACTERS,
    onEvent: ({ data }) => ready.push(data === DONE ? { done: true } : { done: false, data: parsed(data) }),
    onError: ({ type }) => {
      if (type === "max-buffer-size-exceeded") tooLong = true;
    },
  });
  const decoder = new TextDecoder();
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > MOST_STREAM_BYTES) throw new UnreadableAnswer(`The answer is longer than ${MOST_STREAM_BYTES} bytes.`);
    parser.feed(decoder.decode(chunk, { stream: true }));
    if (tooLong) throw new UnreadableAnswer(`An event is longer than ${MOST_EVENT_CHARACTERS} characters.`);
    if (ready.length === 0) continue;
    const events = ready;
    ready = [];
    yield events;
  }
  // The last event may have no empty line behind it.
  parser.feed("\n\n");
  if (ready.length > 0) yield ready;
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    throw new UnreadableAnswer("An event is not JSON.");
  }
}
