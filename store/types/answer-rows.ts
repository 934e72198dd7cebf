import { columns } from "./columns.ts";
import type { AnswerBounds } from "./storage.ts";

/**
 * | status | meaning |
 * |---|---|
 * | queued, in_progress | of a background response that has not ended |
 * | completed, incomplete | ended; a later response may continue it |
 * | failed, cancelled | ended without a complete answer |
 */
export type ResponseStatus = "queued" | "in_progress" | "completed" | "incomplete" | "failed" | "cancelled";

/** A stored response without its items. */
export interface ResponseRow {
  seq: number;
  id: string;
  owner: string;
  model: string;
  status: ResponseStatus;
  background: 0 | 1;
  /** Id of its conversation. */
  conversation: string | null;
  /** Of the chain up to this response: its responses, items, and bytes of items. */
  depth: number;
  chainItems: number;
  chainBytes: number;
  /** Number of stored responses that continue it. */
  children: number;
  /** The response as answered, with an empty `output`. */
  object: string;
  createdAt: number;
}

export const RESPONSE = columns<ResponseRow>([
  "seq",
  "id",
  "owner",
  "model",
  "status",
  "background",
  "conversation",
  "depth",
  "chainItems",
  "chainBytes",
  "children",
  "object",
  "createdAt",
]);

export interface NewItem {
  id: string;
  /** JSON. */
  item: string;
}

/** An item with its position among all items of its kind. */
export interface ItemRow extends NewItem {
  seq: number;
}

/** A write of the holder of an API key, with the bounds on its owner's storage. */
export interface AnswerWrite {
  owner: string;
  /** The stored API key of the request. */
  keyId: string | null;
  bounds: AnswerBounds;
}

export interface NewResponse extends AnswerWrite {
  row: Pick<ResponseRow, "id" | "model" | "status" | "background" | "conversation" | "object" | "createdAt">;
  /** Id of the response that it continues. */
  parent: string | null;
  /** The items of its own input. */
  input: readonly NewItem[];
  output: readonly NewItem[];
  /** Of a background response whose events are kept; absent for any other. */
  stream?: { sealed: 0 | 1 };
}

/** Outputs of steps as JSON, with the number of events that they are. */
export interface NewSaid {
  said: string;
  events: number;
}

/** Outputs of steps, or null where a run of the response begins; `number` is the sequence number of the first event. */
export interface SaidRow {
  number: number;
  said: string | null;
}

export interface ConversationRow {
  seq: number;
  id: string;
  owner: string;
  /** JSON. */
  metadata: string;
  items: number;
  bytes: number;
  createdAt: number;
}

export const CONVERSATION = columns<ConversationRow>(["seq", "id", "owner", "metadata", "items", "bytes", "createdAt"]);

/** A stored chat completion. */
export interface CompletionRow {
  seq: number;
  id: string;
  owner: string;
  model: string;
  /** JSON. */
  metadata: string;
  /** The completion as answered, without its metadata. */
  object: string;
  createdAt: number;
}

export const COMPLETION = columns<CompletionRow>(["seq", "id", "owner", "model", "metadata", "object", "createdAt"]);

export interface NewCompletion extends AnswerWrite {
  row: Pick<CompletionRow, "id" | "model" | "object" | "createdAt">;
  metadata: Readonly<Record<string, string>>;
  /** The messages of the request, as JSON. */
  messages: string;
}
