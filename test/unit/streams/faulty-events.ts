import { expect } from "vitest";
import { eventsOf, type NamedEvent } from "../../streams/sse.ts";
import type { FakeRequest } from "../server/fake-engine.ts";
import type { TestServer } from "../server/test-server.ts";

/** Reasoning, text and two calls, all in several pieces. */
export function everyKind(request: FakeRequest): void {
  const piece = (index: number, args: string, begun: object = {}) =>
    request.say("", { toolCalls: [{ index, arguments: args, ...begun }] });
  request.begin().say("", { reasoning: "let me" }).say("", { reasoning: " see" }).say("Two ").say("calls:");
  piece(0, "", { id: "call_a", name: "time" });
  piece(0, '{"city":');
  piece(0, '"Rome"}');
  piece(1, "{}", { id: "call_b", name: "time" });
  const finish = { reason: "tool_calls" as const, stop: null, completionTokens: 8, reasoningTokens: 2 };
  request.say("", { tokens: 0, finish });
}

export async function streamed(server: TestServer, path: string, body: object): Promise<string> {
  const response = await server.post(path, { model: "demo", stream: true, ...body });
  expect(response.status).toBe(200);
  return response.text();
}

type Fields = Record<string, unknown>;

/** The events of a right stream, which a test makes wrong. */
export class FaultyEvents {
  readonly all: Fields[];
  #last: string | null = null;

  constructor(body: string) {
    const events = eventsOf(body);
    if (events.at(-1)?.data === "[DONE]") this.#last = events.pop()!.data;
    this.all = events.map(({ data }): Fields => JSON.parse(data));
  }

  /** The events that have a value at this path. */
  having(path: string): Fields[] {
    return this.all.filter((event) => get(event, path) !== undefined);
  }

  /** One event of a type; of those, the last one by -1. */
  one(type: string, nth = 0): Fields {
    return this.all.filter((event) => event.type === type).at(nth)!;
  }

  remove(...events: Fields[]): void {
    for (const event of events) this.all.splice(this.all.indexOf(event), 1);
    for (const [index, event] of this.having("sequence_number").entries()) event.sequence_number = index;
  }

  done(last: string | null): void {
    this.#last = last;
  }

  get events(): NamedEvent[] {
    const events = this.all.map((event) => ({
      name: typeof event.type === "string" ? event.type : null,
      data: JSON.stringify(event),
    }));
    return this.#last === null ? events : [...events, { name: null, data: this.#last }];
  }
}

/** The value at a path such as `response.output.0`. */
function get(event: Fields, path: string): unknown {
  return path.split(".").reduce<unknown>((value, key) => Object(value)[key], event);
}

/** Sets the value at a path of each event. Undefined removes it; a function makes it from what is there. */
export function set(events: Fields | Fields[], path: string, value: unknown): void {
  const keys = path.split(".");
  const last = keys.pop()!;
  for (const event of [events].flat()) {
    const holder: Fields = keys.length === 0 ? event : Object(get(event, keys.join(".")));
    holder[last] = typeof value === "function" ? value(holder[last]) : value;
  }
}

export const plus = (difference: number) => (count: number) => count + difference;

/** A title, the rule that is broken, and the change that breaks it. */
export type Fault = [title: string, rule: string, change: (stream: FaultyEvents) => void];
