/** The fields of a request that decide how its answer is written. */
export interface Reported {
  maxTokens: number;
  /** The part of the reasoning that the answer has: nothing, blocks with a signature and no text, or blocks with both. */
  thoughts: "none" | "signature" | "text";
}

/**
 * The signature of all reasoning: clients send it back, and drop reasoning that has none. It is never checked, since the
 * history may come from another server.
 */
export const SIGNATURE = Buffer.from("nightshift").toString("base64");
