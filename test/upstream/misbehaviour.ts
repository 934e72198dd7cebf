/**
 * The misbehaviour of a fake upstream at one request. `after` counts tokens that are written properly before; an answer that is
 * not streamed breaks in the middle of its body instead.
 */
export type Misbehaviour =
  /** Any status, with the error body of the engine unless there is one here. */
  | { kind: "status"; status: number; body?: unknown; headers?: Record<string, string> }
  /** As the engine itself does: by its status, or within the stream. */
  | { kind: "overloaded"; headers?: Record<string, string> }
  | { kind: "redirect"; to: string }
  /** A page in place of an answer, with status 200. */
  | { kind: "not json" }
  /** Nothing for so long; then all is well. */
  | { kind: "slow headers"; ms: number }
  /** An event with an error in place of the rest. */
  | { kind: "in-band error"; after: number; event: unknown }
  /** Half an event, then the end of the response. */
  | { kind: "half chunk"; after: number }
  /** The end of the response in good order, in the middle of the answer. */
  | { kind: "close"; after: number }
  /** The connection is reset; "headers": before any byte. */
  | { kind: "reset"; after: number | "headers" }
  /** Nothing more comes, until the client closes. */
  | { kind: "stall"; after: number | "headers" }
  /** Nothing for so long, in the middle of the answer. */
  | { kind: "pause"; after: number; ms: number }
  /** All but the last line. */
  | { kind: "no done" }
  | { kind: "usage"; usage: "missing" | "zero" | "twice" | "lying" | "boundless" }
  | { kind: "wrong model"; id: string }
  /** A piece of content of so many bytes, in one event. */
  | { kind: "huge event"; bytes: number }
  /** Tokens without end. */
  | { kind: "endless" }
  /** All bytes in writes of so many: characters and lines are cut anywhere. */
  | { kind: "pieces"; bytes: number };

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
}

/** The usage objects that are written in place of the true one. */
export function usagesOf<Own extends Usage>(own: Own, wrong: Misbehaviour | null): Own[] {
  if (wrong?.kind !== "usage") return [own];
  const zero = { ...own, prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  const lying = { ...own, completion_tokens: 1, total_tokens: own.prompt_tokens + 1 };
  const boundless = { ...own, prompt_tokens: 1e9, total_tokens: 1e9 + own.completion_tokens };
  return { missing: [], zero: [zero], twice: [own, own], lying: [lying], boundless: [boundless] }[wrong.usage];
}
