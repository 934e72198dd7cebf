import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { createParser } from "eventsource-parser";
import { AUTHORIZATION, type Target } from "./target.ts";

/** Measurements of one streamed request. Times in milliseconds of the client's clock. */
export interface Sample {
  sentAt: number;
  endedAt: number;
  /** Time from sending to the first event with text. */
  ttft: number;
  /** Gaps between consecutive events with text; a token without a complete character causes no event. */
  gaps: number[];
  /** Time from the first to the last event with text, divided by the tokens after the first. */
  tpot: number;
  events: number;
  promptTokens: number;
  cachedTokens: number;
  completionTokens: number;
}

export type Body = { path: "completions" | "chat/completions" } & Record<string, unknown>;

/** The parts of a chunk that are read, of either endpoint. */
interface Chunk {
  choices?: { text?: string | null; delta?: { content?: string | null; reasoning_content?: string | null } }[];
  usage?: {
    prompt_tokens: number;
    completion_tokens: number;
    prompt_tokens_details?: { cached_tokens?: number } | null;
  } | null;
  error?: { message?: string };
}

/** A response with a status other than 200. */
export class HttpFailure extends Error {
  readonly status: number;
  /** Retry-After in seconds; null without one, and for a date, which RFC 9110 allows and no server here sends. */
  readonly retryAfter: number | null;

  constructor(label: string, status: number, retryAfter: string | undefined, text: string) {
    super(`${label}: ${status} ${text.slice(0, 300)}`);
    this.status = status;
    const seconds = Number(retryAfter);
    this.retryAfter = Number.isFinite(seconds) ? seconds : null;
  }
}

export interface StreamOptions {
  /** Closes the connection; the promise then rejects. */
  signal?: AbortSignal;
  /** Receives the client's time of each event with text, also of a stream that fails. */
  onText?: (at: number) => void;
}

/** Sends one request and reads its stream to the end. Rejects when it fails, ends early or has no usage. */
export async function stream(target: Target, body: Body, { signal, onText }: StreamOptions = {}): Promise<Sample> {
  const { path, ...fields } = body;
  const payload = JSON.stringify({
    model: target.model,
    ...fields,
    stream: true,
    stream_options: { include_usage: true },
  });
  const sentAt = performance.now();
  const response = await send(target, path, payload, signal);
  let now = sentAt;
  let first = Number.NaN;
  let last = Number.NaN;
  let events = 0;
  let done = false;
  let usage: Chunk["usage"];
  const gaps: number[] = [];
  const parser = createParser({
    onEvent({ data }) {
      if (data === "[DONE]") {
        done = true;
        return;
      }
      const chunk = JSON.parse(data) as Chunk;
      if (chunk.error) throw new Error(`${target.label}: ${chunk.error.message}`);
      usage = chunk.usage ?? usage;
      const choice = chunk.choices?.[0];
      if (!(choice?.text || choice?.delta?.content || choice?.delta?.reasoning_content)) return;
      if (events++ === 0) first = now;
      else gaps.push(now - last);
      last = now;
      onText?.(now);
    },
  });
  await each(response, (part) => {
    now = performance.now();
    parser.feed(part);
  });
  if (!done) throw new Error(`${target.label}: a stream ended without [DONE]`);
  if (!usage) throw new Error(`${target.label}: a stream had no usage`);
  return {
    sentAt,
    endedAt: performance.now(),
    ttft: first - sentAt,
    gaps,
    tpot: (last - first) / (usage.completion_tokens - 1),
    events,
    promptTokens: usage.prompt_tokens,
    cachedTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
    completionTokens: usage.completion_tokens,
  };
}

/** Handles every read at once: an asynchronous iterator would join reads and lose the times between them. */
function each(response: IncomingMessage, onText: (text: string) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    response.setEncoding("utf8");
    response.on("data", (text: string) => {
      try {
        onText(text);
      } catch (error) {
        response.destroy(error instanceof Error ? error : new Error(String(error)));
      }
    });
    response.once("end", resolve).once("error", reject);
  });
}

async function send(target: Target, path: string, payload: string, signal?: AbortSignal): Promise<IncomingMessage> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const call: ClientRequest = request(
      new URL(path, target.base),
      {
        method: "POST",
        agent: target.agent,
        signal,
        headers: {
          "content-type": "application/json",
          "content-length": Buffer.byteLength(payload),
          ...AUTHORIZATION,
        },
      },
      resolve,
    );
    call.setNoDelay(true);
    call.on("error", reject).end(payload);
  });
  if (response.statusCode === 200) return response;
  response.setEncoding("utf8");
  let text = "";
  for await (const part of response) text += part;
  throw new HttpFailure(target.label, response.statusCode ?? 0, response.headers["retry-after"], text);
}
