import type { ServerResponse } from "node:http";
import { type AnswerView, answerBody, answerEvents, contentEvent } from "./answer-events.ts";
import type { EventWriter } from "./event-writer.ts";
import type { Misbehaviour } from "./misbehaviour.ts";

/** Where an answer goes, and what is wrong with it. */
export interface Target {
  response: ServerResponse;
  writer: EventWriter;
  wrong: Misbehaviour | null;
  /** Computes a token. */
  step(): Promise<void>;
}

/** Writes an answer, streamed or not. */
export async function writeAnswer(view: AnswerView, target: Target): Promise<void> {
  if (view.asked.stream) await writeEvents(view, target);
  else {
    for (let token = 0; token < view.answer.completionTokens; token++) await target.step();
    await writeJson(answerBody(view), target);
  }
}

/** Writes a body of 200 that may break in its middle. */
export async function writeJson(
  body: unknown,
  { response, writer }: Pick<Target, "response" | "writer">,
): Promise<void> {
  response.writeHead(200, { "content-type": "application/json" });
  await writer.body(JSON.stringify(body));
}

async function writeEvents(view: AnswerView, { response, writer, wrong, step }: Target): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
  if (wrong?.kind === "huge event") await writer.event(contentEvent("x".repeat(wrong.bytes), view));
  for (const event of answerEvents(view)) {
    if (event.tokens > 0) await step();
    await writer.event(event);
    while (wrong?.kind === "endless" && event.tokens > 0) {
      await step();
      await writer.event(contentEvent(" more", view));
    }
  }
  await writer.done();
}
