import type { SequenceOutput } from "../../engine/protocol/output.ts";
import type { NewSaid } from "../../store/types/answer-rows.ts";
import { countEvents } from "../dialects/responses/output/event-writer.ts";
import { storedSaid } from "../dialects/responses/output/said.ts";
import type { StreamFormat, TextDelta } from "../generation/output/stream-format.ts";
import { inOrder } from "../generation/output/text-order.ts";

/** Where the outputs of one run are kept; both resolve when they are durable. */
export interface RunStore {
  begin(): Promise<void>;
  say(said: NewSaid): Promise<void>;
}

/** Milliseconds of outputs that one write takes after the first: a write for each token would be for no one. */
const WRITE_MS = 200;

/**
 * The outputs of one run of a streamed background response. They are stored a few steps at a time, and read from the store
 * by those that the events are sent to: an event that was sent is found again.
 */
export class RunJournal {
  readonly #format: StreamFormat;
  readonly #store: RunStore;
  #begun = false;
  #unwritten: TextDelta[] = [];
  /** The number of events of the unwritten outputs. */
  #events = 0;
  #timer: NodeJS.Timeout | undefined;
  #waitMs = 0;
  #writing: Promise<void> = Promise.resolve();

  /** `format` writes the events, which are counted here. */
  constructor(format: StreamFormat, store: RunStore) {
    this.#format = format;
    this.#store = store;
  }

  started(): void {
    if (this.#begun) return;
    this.#begun = true;
    this.#write(() => this.#store.begin());
  }

  output({ text, reasoning, toolCalls = [], logprobs = [], finish }: SequenceOutput): void {
    if (text !== "" || reasoning !== "" || toolCalls.length > 0 || logprobs.length > 0) {
      for (const delta of inOrder({ text, reasoning, toolCalls, logprobs })) {
        this.#unwritten.push(delta);
        this.#events += countEvents(this.#format.delta(0, delta));
      }
      this.#timer ??= setTimeout(() => this.#writeSome(), this.#waitMs);
    }
    // Its events follow from the status of the response, and are not stored.
    if (finish !== null) this.#format.last(0, finish);
  }

  /** The outputs that are not stored yet, for the write of the end; null for none. Rejects where one could not be stored. */
  async rest(): Promise<NewSaid | null> {
    clearTimeout(this.#timer);
    await this.#writing;
    return this.#unwritten.length === 0 ? null : this.#take();
  }

  /** Resolves when nothing more will be stored. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#writing.catch(() => {});
  }

  #writeSome(): void {
    this.#timer = undefined;
    this.#waitMs = WRITE_MS;
    // Outputs without an event wait for the next one: a row has the number of its first event.
    if (this.#events === 0) return;
    const said = this.#take();
    this.#write(() => this.#store.say(said));
  }

  #write(write: () => Promise<void>): void {
    this.#writing = this.#writing.then(write);
    // `rest` rejects with it; a run that ends otherwise has no use for it.
    this.#writing.catch(() => {});
  }

  #take(): NewSaid {
    const said = { said: storedSaid(this.#unwritten), events: this.#events };
    this.#unwritten = [];
    this.#events = 0;
    return said;
  }
}
