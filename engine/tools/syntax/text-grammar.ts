import type { GrammarBuilder } from "../../../grammar/conversion/builder.ts";
import { CodePoints } from "../../../grammar/gbnf/code-points.ts";

/**
 * Adds rules for any text in which `end` does not occur; beginnings of `end` may occur (`1 << 2` before `</value>`). There
 * is one rule for each number of matched characters, as in the automaton of Knuth, Morris and Pratt.
 *
 * @returns the name of the rule
 */
export function textWithout(grammar: GrammarBuilder, end: string): string {
  const characters = [...end];
  const names = characters.map(() => grammar.reserve("text"));
  const known = [...new Set(characters)];
  names.forEach((name, begun) => {
    const ways = known.flatMap((character) => {
      const next = begunWith(characters, [...characters.slice(0, begun), character]);
      return next === characters.length ? [] : [`${CodePoints.of(character).gbnf} ${names[next]}`];
    });
    const others = CodePoints.of(end).complement().gbnf;
    grammar.define(name, ['""', ...ways, `${others} ${names[0]}`].join(" | "));
  });
  return names[0]!;
}

/** Length of the longest suffix of the text that is a beginning of `end`. */
function begunWith(end: readonly string[], text: readonly string[]): number {
  for (let length = Math.min(end.length, text.length); length > 0; length--) {
    if (end.slice(0, length).join("") === text.slice(-length).join("")) return length;
  }
  return 0;
}
