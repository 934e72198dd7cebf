/**
 * A grammar over bytes as a recursive transition network (Woods 1970): a graph for each rule. An edge takes a byte, or calls
 * a rule, or is free, and then leads to its target.
 */
export interface Network {
  readonly root: number;
  /** By rule: its first and its last node. */
  readonly entries: readonly number[];
  readonly exits: readonly number[];
  /** By node: its rule, and its edges. */
  readonly rules: readonly number[];
  readonly edges: readonly (readonly Edge[])[];
  /** By byte: its class. Bytes that no edge distinguishes have the same class. */
  readonly classes: Uint8Array;
  readonly classCount: number;
}

export type Edge =
  /** Takes bytes of these classes, inclusive. */
  | { kind: "byte"; low: number; high: number; to: number }
  | { kind: "call"; rule: number; to: number }
  | { kind: "free"; to: number };
