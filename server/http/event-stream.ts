import type { ServerResponse } from "node:http";
import { setImmediate as turn } from "node:timers/promises";
import { dropWhenStalled } from "./connection/slow-reader.ts";

export interface StreamOptions {
  /** The content type of the response. */
  type: string;
  /** Bytes that may wait in memory for a slow reader when more are written. */
  buffer: number;
  /** Milliseconds that written bytes may stay unread. */
  stallMs: number;
  /** Milliseconds without a write after which `keepAlive` is sent. */
  silenceMs: number;
  /** Whole events without content. */
  keepAlive: () => string;
}

/** Streams with unwritten events of the current step. */
let unwritten: EventStream[] = [];

/** Runs as a microtask: after the loop over a step's outputs, before any other task. */
function writeAll(): void {
  const streams = unwritten;
  unwritten = [];
  for (const stream of streams) stream.write();
}

/**
 * A response as a stream of events. All events pushed in one turn of the event loop, which are those of one step, leave in
 * one write. The head is sent with the first event: until then an error can still be a status. From then on, events without
 * content break long silences, such as those of reasoning that is not shown: clients and proxies drop a silent connection.
 */
export class EventStream {
  readonly #res: ServerResponse;
  readonly #options: StreamOptions;
  readonly #beforeHead: () => void;
  readonly #afterFirstWrite: () => void;
  #pending = "";
  #opened = false;
  #ending = false;
  #chunked = false;
  #stalled = false;
  /** Ends after the longest silence; every write restarts it. */
  #silence: NodeJS.Timeout | null = null;

  /** `beforeHead` may still set headers; `afterFirstWrite` is called when the first events were handed to the socket. */
  constructor(res: ServerResponse, options: StreamOptions, beforeHead: () => void, afterFirstWrite: () => void) {
    this.#res = res;
    this.#options = options;
    this.#beforeHead = beforeHead;
    this.#afterFirstWrite = afterFirstWrite;
  }

  /** True from the first push on: the status of the response is fixed. */
  get opened(): boolean {
    return this.#opened;
  }

  /** Adds whole events: `data: …\n\n`, or lines of JSON. */
  push(events: string): void {
    this.#opened = true;
    if (this.#pending === "" && unwritten.push(this) === 1) queueMicrotask(writeAll);
    this.#pending += events;
  }

  /** Resolves when the reader has room for more events, or has left. */
  async room(): Promise<void> {
    // The pushed events are written before.
    await turn();
    const res = this.#res;
    if (!res.writableNeedDrain || res.destroyed) return;
    await new Promise<void>((resolve) => {
      const settle = () => {
        res.off("drain", settle);
        res.off("close", settle);
        resolve();
      };
      res.once("drain", settle);
      res.once("close", settle);
    });
  }

  /** Adds the last events and ends the response after them. */
  end(events: string): void {
    this.#ending = true;
    this.push(events);
  }

  /** Called by the microtask alone. */
  write(): void {
    const res = this.#res;
    const events = this.#pending;
    this.#pending = "";
    if (res.destroyed || res.writableEnded) return;
    // What is added now may be larger than the buffer: the last events have the whole answer.
    if (res.writableLength > this.#options.buffer) return void res.destroy();
    const first = !res.headersSent;
    if (first) this.#writeHead();
    const drained = this.#ending ? this.#writeLast(events) : res.write(this.#frame(events));
    if (first) this.#begun();
    else this.#silence?.refresh();
    if (!drained) this.#watchReader();
  }

  /**
   * Node frames a chunk by four writes to the socket and a cork. At thousands of small events a second that is most of the
   * cost, so the text is framed here, and Node's framing is turned off.
   */
  #writeHead(): void {
    const res = this.#res;
    this.#beforeHead();
    // nginx buffers a proxied response without the second header.
    res.writeHead(200, { "content-type": this.#options.type, "x-accel-buffering": "no" });
    // False for HTTP/1.0, where the end of the connection ends the body.
    this.#chunked = res.chunkedEncoding;
    res.chunkedEncoding = false;
  }

  #frame(events: string): string {
    // An empty chunk would end the body.
    if (events === "") return "";
    return this.#chunked ? `${Buffer.byteLength(events).toString(16)}\r\n${events}\r\n` : events;
  }

  #writeLast(events: string): boolean {
    this.#res.end(this.#chunked ? `${this.#frame(events)}0\r\n\r\n` : events);
    return this.#res.writableLength === 0;
  }

  #begun(): void {
    this.#afterFirstWrite();
    if (this.#ending) return;
    const silence = setTimeout(() => this.#breakSilence(), this.#options.silenceMs).unref();
    this.#silence = silence;
    this.#res.once("close", () => clearTimeout(silence));
  }

  #breakSilence(): void {
    // Nothing is added to what a slow reader has not read yet.
    if (this.#stalled) this.#silence?.refresh();
    else this.push(this.#options.keepAlive());
  }

  #watchReader(): void {
    if (this.#stalled) return;
    this.#stalled = true;
    this.#res.once("drain", () => {
      this.#stalled = false;
    });
    dropWhenStalled(this.#res, this.#options.stallMs);
  }
}
