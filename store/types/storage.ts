import type { Database } from "better-sqlite3";

/** Least bytes that a file or a part counts for: one disk block, as in schema/009-storage.ts. */
export const MIN_STORED_BYTES = 4096;
/** Least bytes that a stored answer or a conversation counts for: its rows and their index entries. */
export const MIN_ANSWER_BYTES = 1024;

/** Storage limits of an owner. */
export interface StorageBounds {
  /** Null is no bound. */
  quotaBytes: number | null;
  maxFiles: number;
}

/** Limits on the stored answers of an owner. */
export interface AnswerBounds {
  /** Of files and answers together; null is no bound. */
  quotaBytes: number | null;
  maxAnswers: number;
}

/**
 * Storage of an owner: the number of its files, that of its stored answers and conversations, and the bytes of both and of
 * parts of open uploads, each at least MIN_STORED_BYTES or MIN_ANSWER_BYTES.
 */
export interface Storage {
  files: number;
  answers: number;
  bytes: number;
}

export function storageOf(db: Database): (owner: string) => Storage {
  const stored = db.prepare<{ owner: string }, Storage>(
    "SELECT files, answers, bytes FROM storage WHERE owner = @owner",
  );
  return (owner) => stored.get({ owner }) ?? { files: 0, answers: 0, bytes: 0 };
}

/** The reason why further bytes of answers do not fit; null where they do. */
export function answerRefusal(db: Database): (owner: string, more: AnswerSize, bounds: AnswerBounds) => Refusal | null {
  const storage = storageOf(db);
  return (owner, more, { quotaBytes, maxAnswers }) => {
    const stored = storage(owner);
    if (stored.answers + more.answers > maxAnswers) return "too_many";
    return quotaBytes !== null && stored.bytes + more.bytes > quotaBytes ? "over_quota" : null;
  };
}

export interface AnswerSize {
  answers: number;
  bytes: number;
}

export type Refusal = "too_many" | "over_quota";
