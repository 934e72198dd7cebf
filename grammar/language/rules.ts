import type { Work } from "./work.ts";

/** Collects the rules of a grammar. */
export interface Rules extends Work {
  /** Adds a rule. @returns its name: the given one, with a number if it is taken */
  rule(name: string, body: string): string;
  /** Reserves the name of a rule that is defined later. */
  reserve(name: string): string;
  define(name: string, body: string): void;
}
