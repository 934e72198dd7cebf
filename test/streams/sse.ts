import { rule } from "./rule.ts";

export interface NamedEvent {
  /** Null for an event without a name. */
  name: string | null;
  data: string;
}

/** The events of a body, without its comments. Each is whole: its name, if it has one, one line of data, an empty line. */
export function eventsOf(body: string): NamedEvent[] {
  const texts = body.split("\n\n");
  rule(texts.pop() === "", "a stream ends with a whole event", body.slice(-200));
  return texts
    .filter((text) => !text.startsWith(":"))
    .map((text) => {
      const [, name = null, data] = /^(?:event: (\S+)\n)?data: ([^\r\n]+)$/.exec(text) ?? [];
      rule(data !== undefined, "an event is its name and one line of data", text);
      return { name, data };
    });
}

/** The whole events of a body that its client cut at any byte. */
export function wholeEvents(body: string): NamedEvent[] {
  const end = body.lastIndexOf("\n\n");
  return end === -1 ? [] : eventsOf(body.slice(0, end + 2));
}
