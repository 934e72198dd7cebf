import { CodePoints } from "../gbnf/code-points.ts";
import type { Rules } from "./rules.ts";

const QUOTED = new CodePoints([
  [0, 0x1f],
  [0x22, 0x22],
  [0x5c, 0x5c],
  [0x7f, 0x7f],
]);

interface Branch {
  ends: boolean;
  next: Map<string, Branch>;
}

/**
 * Names of properties other than the known ones, with their quotes: a second property of a known name would be accepted
 * with any value, and override the first. They have no escapes, which could spell a known name.
 */
export function otherNames(grammar: Rules, known: readonly string[]): string {
  const plain = grammar.rule("name-char", QUOTED.complement().gbnf);
  const root: Branch = { ends: false, next: new Map() };
  for (const name of known) add(root, name);
  const rule = (branch: Branch): string => {
    const taken = [...branch.next.keys()];
    const free = CodePoints.of(taken.join("")).union(QUOTED).complement();
    const parts = [`${free.gbnf} ${plain}*`];
    for (const [char, next] of branch.next) parts.push(`${CodePoints.of(char).gbnf} ${rule(next)}`);
    if (!branch.ends) parts.push('""');
    return grammar.rule("other", parts.join(" | "));
  };
  return grammar.rule("name", `"\\"" ${rule(root)} "\\""`);
}

function add(root: Branch, name: string): void {
  // A name that needs an escape cannot be another name.
  if ([...name].some((char) => QUOTED.has(char.codePointAt(0)!))) return;
  let branch = root;
  for (const char of name) {
    let next = branch.next.get(char);
    if (next === undefined) {
      next = { ends: false, next: new Map() };
      branch.next.set(char, next);
    }
    branch = next;
  }
  branch.ends = true;
}
