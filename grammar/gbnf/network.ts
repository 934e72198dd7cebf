/**
 * A grammar over bytes as a recursive transition network (Woods 1970): a graph for each rule, whose edges take a byte, call
 * a rule and go on at their target, or cost nothing.
 */
export interface Network {
  readonly root: number;
  /** By rule: the node where it begins, the node where it ends. */
  readonly entries: readonly number[];
  readonly exits: readonly number[];
  /** By node: its rule, and its edges. */
  readonly rules: readonly number[];
  readonly edges: readonly (readonly Edge[])[];
  /** Bytes that no edge tells apart have one class. */
  readonly classes: Uint8Array;
  readonly classCount: number;
}

export type Edge =
  /** Takes bytes of these classes, inclusive. */
  | { kind: "byte"; low: number; high: number; to: number }
  | { kind: "call"; rule: number; to: number }
  | { kind: "free"; to: number };
