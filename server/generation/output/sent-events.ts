import type { IncomingMessage, ServerResponse } from "node:http";
import { stampProcessingTime } from "../../http/context/request-context.ts";
import { EventStream } from "../../http/event-stream.ts";
import type { AppOptions } from "../../options/app-options.ts";
import { EVENT_STREAM, KEEP_ALIVE } from "./stream-format.ts";

export type SentEventsOptions = Pick<AppOptions, "streamBuffer" | "stallMs" | "silenceMs">;

/**
 * Sends texts of whole events as they come, at the pace of the reader. Rejects with their error: until the first of them it
 * can be answered.
 */
export async function sendEvents(
  req: IncomingMessage,
  res: ServerResponse,
  events: AsyncIterable<string>,
  { streamBuffer: buffer, stallMs, silenceMs }: SentEventsOptions,
): Promise<void> {
  const options = { type: EVENT_STREAM, buffer, stallMs, silenceMs, keepAlive: () => KEEP_ALIVE };
  const stream = new EventStream(
    res,
    options,
    () => stampProcessingTime(req, res),
    () => {},
  );
  for await (const text of events) {
    if (res.destroyed) return;
    if (text === "") continue;
    stream.push(text);
    await stream.room();
  }
  stream.end("");
}
