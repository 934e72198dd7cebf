/** Writes the events of one stream, numbered in their order. */
export class EventWriter {
  #next: number;
  readonly #after: number;

  /** `first` is the number of the first event; events up to the number `after` are left out. */
  constructor(first = 0, after = -1) {
    this.#next = first;
    this.#after = after;
  }

  event(type: string, fields: object): string {
    const sequence_number = this.#next++;
    if (sequence_number <= this.#after) return "";
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number, ...fields })}\n\n`;
  }

  /** An event whose fields are written except for the number. */
  numbered(head: string, rest: string): string {
    const sequence_number = this.#next++;
    return sequence_number <= this.#after ? "" : `${head}${rest},"sequence_number":${sequence_number}}\n\n`;
  }
}

/** The beginning of all events of a type in one part of an item, up to the value of `delta`. */
export function deltaHead(type: string, place: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...place }).slice(0, -1)},"delta":`;
}

/** The number of events in a text of whole ones. JSON has no line breaks. */
export function countEvents(events: string): number {
  return events.split("\n\n").length - 1;
}
