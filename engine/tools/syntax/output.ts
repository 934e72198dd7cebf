/** A model that writes nothing but white space must not have it held back for ever. In characters. */
const MOST_WHITE_SPACE = 64;

/**
 * What a reading found. White space between text and calls is the format's and is dropped: at the end of text it is held
 * back until more text follows.
 */
export class Output {
  /** The text that is read now is a thought, its marks included. */
  thinking = false;
  #events: ToolEvent[] = [];
  #space = "";
  #called = false;
  /** Text has come since the latest call. */
  #speaking = true;

  text(text: string): void {
    const all = this.#space + text;
    const from = this.#speaking ? 0 : all.length - all.trimStart().length;
    const end = Math.max(from, all.trimEnd().length, all.length - MOST_WHITE_SPACE);
    this.#space = all.slice(end);
    if (end === from) return;
    this.#speaking = true;
    this.#add("text", all.slice(from, end));
  }

  thought(text: string): void {
    this.#add("thought", text);
  }

  call(name: string, id: string | null = null): void {
    this.#space = "";
    this.#called = true;
    this.#speaking = false;
    this.#events.push({ kind: "call", name, id });
  }

  arguments(text: string): void {
    this.#add("arguments", text);
  }

  /** The turn is over, whatever the model still writes. */
  end(): void {
    this.#events.push({ kind: "end" });
  }

  /** At the end of the answer: white space at the end of one without calls is its own. */
  finish(): void {
    if (!this.#called) this.#add("text", this.#space);
    this.#space = "";
  }

  /** The events since the last time. */
  take(): ToolEvent[] {
    const events = this.#events;
    if (events.length > 0) this.#events = [];
    return events;
  }

  #add(kind: "text" | "thought" | "arguments", text: string): void {
    if (text === "") return;
    const last = this.#events.at(-1);
    if (last?.kind === kind) last.text += text;
    else this.#events.push({ kind, text });
  }
}

/** What an answer turned out to hold, in its order. Joined, events are the same wherever the answer's pieces were cut. */
export type ToolEvent =
  | { kind: "text"; text: string }
  /** Of the model's thoughts, in formats that have a channel for these. */
  | { kind: "thought"; text: string }
  /** A call begins; `id` is the model's own, where its format has one. */
  | { kind: "call"; name: string; id: string | null }
  /** More of the latest call's arguments, as JSON. */
  | { kind: "arguments"; text: string }
  /** The model begins to play the tool's part: its turn is over. */
  | { kind: "end" };
