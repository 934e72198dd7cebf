/** Writes the events of one stream. They are numbered from 0. */
export class EventWriter {
  #next = 0;

  event(type: string, fields: object): string {
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: this.#next++, ...fields })}\n\n`;
  }

  /** An event whose fields are written except for the number. */
  numbered(head: string, rest: string): string {
    return `${head}${rest},"sequence_number":${this.#next++}}\n\n`;
  }
}

/** The beginning of all events of a type in one part of an item, up to the value of `delta`. */
export function deltaHead(type: string, place: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...place }).slice(0, -1)},"delta":`;
}
