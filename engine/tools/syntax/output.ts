/** Most characters of white space that are held back: an answer of white space alone is passed on too. */
const MOST_WHITE_SPACE = 64;

/**
 * Collects the events of a reading. White space between text and calls belongs to the format and is dropped, so at the end
 * of a text it is held back until more text follows.
 */
export class Output {
  /** True while the text that is read is reasoning, its marks included. */
  thinking = false;
  #events: ToolEvent[] = [];
  #space = "";
  #called = false;
  /** True if there was text after the latest call. */
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

  /** The answer ends here; text that the model writes after it is dropped. */
  end(): void {
    this.#events.push({ kind: "end" });
  }

  /** At the end of the answer. White space at the end of an answer without calls is a part of it. */
  finish(): void {
    if (!this.#called) this.#add("text", this.#space);
    this.#space = "";
  }

  /** The events since the last call of take. */
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

/** The parts of an answer, in order. Joined, the events do not depend on the division of the answer into pieces. */
export type ToolEvent =
  | { kind: "text"; text: string }
  /** Reasoning, in formats that have a channel for it. */
  | { kind: "thought"; text: string }
  /** A call begins. `id` is given by the model in formats that have one, else null. */
  | { kind: "call"; name: string; id: string | null }
  /** More of the latest call's arguments, as JSON. */
  | { kind: "arguments"; text: string }
  /** The model begins to write the result of the tool: the answer ends here. */
  | { kind: "end" };
