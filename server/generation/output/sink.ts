import type { SequenceOutput } from "../../../engine/protocol/output.ts";
import type { ApiError } from "../../../openapi/api-error.ts";
import type { Usage } from "../../../openapi/generation/usage.ts";

/** Where a call's choices go: a stream of events, or one body. */
export interface Sink {
  /** True once the client may have seen a byte: then nothing is run again behind its back. */
  readonly opened: boolean;
  /** The prompt that a choice begins with when it is echoed; before its first output. */
  prompt(choice: number, text: string): void;
  output(choice: number, output: SequenceOutput): void;
  /** Drops what was collected of these choices: they start over. */
  forget(first: number, count: number): void;
  complete(usage: Usage): void;
  /** Only when opened: before that the error becomes a status. */
  fail(error: ApiError): void;
}
