import type { SequenceOutput } from "../../../engine/protocol/output.ts";
import type { ApiError } from "../../../openapi/api-error.ts";
import type { Usage } from "../../../openapi/generation/usage.ts";

/** The receiver of a request's choices: a stream of events, or one body. */
export interface Sink {
  /** True once the client may have received a byte: the request is not run again then. */
  readonly opened: boolean;
  /** The echoed prompt of a choice, before its first output. */
  prompt(choice: number, text: string): void;
  output(choice: number, output: SequenceOutput): void;
  /** Drops the collected output of these choices, which start over. */
  forget(first: number, count: number): void;
  complete(usage: Usage): void;
  /** Called only when opened: before that the error becomes a status. */
  fail(error: ApiError): void;
}
