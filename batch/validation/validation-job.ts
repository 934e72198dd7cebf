import type { NewLines } from "../../store/types/line-row.ts";
import type { ValidateRules, Validation } from "./line-validator.ts";

export interface ValidationJob {
  path: string;
  /** Owners get equal shares of the process's time. */
  owner: string;
  rules: ValidateRules;
  /** True for a process of its own: an earlier validation of this file was lost. */
  alone: boolean;
}

/** A job's `id` is the sender's, and unique for the life of the process. */
export type ToValidation =
  | { type: "validate"; id: number; job: ValidationJob }
  | { type: "taken"; id: number }
  | { type: "cancel"; id: number };

export type FromValidation =
  | { type: "ready" }
  /** The process has jobs and its event loop runs. */
  | { type: "alive" }
  | { type: "lines"; id: number; lines: NewLines }
  | { type: "outcome"; id: number; outcome: Validation }
  /** The file could not be read, for a reason that may pass. */
  | { type: "unreadable"; id: number; message: string }
  /** The program failed at the file. `where` is the stack without the message, which may quote the file. */
  | { type: "broken"; id: number; where: string };

/**
 * Validates one input file. `take` stores a chunk of lines; several may run at once. Rejects with ValidationLost when no
 * result came back, and with other errors when the file can't be read, `take` rejects, or the signal aborts.
 */
export type Validate = (
  job: ValidationJob,
  take: (lines: NewLines) => Promise<void>,
  signal: AbortSignal,
) => Promise<Validation>;

/** A validation ended without a result: its process ended or hung, or the program failed at the file. */
export class ValidationLost extends Error {}
