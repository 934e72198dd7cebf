import type { Rules } from "../language/rules.ts";
import { UnsupportedSchema } from "../schema/unsupported-schema.ts";

/** Most states of one sequence: each becomes a rule. */
const MOST_STATES = 10_000;

/** A state within a sequence of members or items, and what may follow. States are compared as texts. */
export interface SequenceState {
  /** True if the sequence may end here. */
  ends: boolean;
  /** Right-hand sides of what may follow, with the state after it. */
  next: readonly (readonly [text: string, state: string])[];
}

/**
 * Adds a rule for every state of a sequence that can come to an end. A rule calls the next one at its end, where an engine
 * keeps no return.
 *
 * @returns the name of the rule of `start`; null if no sequence comes to an end
 * @throws UnsupportedSchema of the whole schema for too many states
 */
export function sequenceRule(
  grammar: Rules,
  name: string,
  start: string,
  visit: (state: string) => SequenceState,
): string | null {
  const states = new Map<string, SequenceState>();
  const before = new Map<string, string[]>();
  const found = new Set([start]);
  for (const state of found) {
    if (found.size > MOST_STATES)
      throw new UnsupportedSchema([], "its grammar is too large: too many members or items.");
    const visited = visit(state);
    states.set(state, visited);
    for (const [, to] of visited.next) {
      found.add(to);
      before.set(to, [...(before.get(to) ?? []), state]);
    }
  }
  const live = new Set([...found].filter((state) => states.get(state)!.ends));
  for (const state of live) for (const earlier of before.get(state) ?? []) live.add(earlier);
  if (!live.has(start)) return null;
  const names = new Map([...found].filter((state) => live.has(state)).map((state) => [state, grammar.reserve(name)]));
  for (const [state, rule] of names) {
    const { ends, next } = states.get(state)!;
    const parts = next.filter(([, to]) => live.has(to)).map(([text, to]) => `${text} ${names.get(to)}`.trim());
    grammar.define(rule, [...(ends ? ['""'] : []), ...parts].join(" | "));
  }
  return names.get(start)!;
}

/** A member or item that comes at its place in the order, or is left out. */
export interface OrderedMember {
  text: string;
  required: boolean;
}

/**
 * Adds the rules of members in their order, with a comma between them, and others after them. Others may have equal names,
 * so that only one of them counts for `least`.
 *
 * @param others the right-hand side of members after the ordered ones; null for none
 * @returns the name of the first rule; null if no sequence has an allowed number of members
 */
export function orderedRule(
  grammar: Rules,
  members: readonly OrderedMember[],
  { others, comma, least, most }: { others: string | null; comma: string; least: number; most: number | null },
): string | null {
  // Higher counts make no difference.
  const top = most ?? Math.max(1, least);
  return sequenceRule(grammar, "next", "0 0 0", (state) => {
    // Members passed, members written, and those of them that are others.
    const [index, count, extra] = state.split(" ").map(Number) as [number, number, number];
    const separator = count === 0 ? "" : comma;
    const full = count === top && most !== null;
    const counted = Math.min(top, count + 1);
    const member = members[index];
    if (member === undefined) {
      const another = Math.min(extra + 1, most === null ? 1 : top);
      // Without an upper bound, counts end at the lower one: one of the others is enough for all of them.
      const distinct = most === null ? (extra === 0 ? counted : count) : counted;
      return {
        ends: count - Math.max(0, most === null ? 0 : extra - 1) >= least,
        next: others === null || full ? [] : [[`${separator} ${others}`, `${index} ${distinct} ${another}`]],
      };
    }
    const taken: [string, string][] = full ? [] : [[`${separator} ${member.text}`, `${index + 1} ${counted} 0`]];
    return { ends: false, next: member.required ? taken : [...taken, ["", `${index + 1} ${count} 0`]] };
  });
}
