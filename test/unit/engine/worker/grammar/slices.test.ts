import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Automaton } from "../../../../../engine/worker/grammar/automaton.ts";
import { Slices } from "../../../../../engine/worker/grammar/slices.ts";
import { VocabularyGrammars } from "../../../../../engine/worker/grammar/vocabulary-grammar.ts";
import { schemaGrammar } from "../../../../../grammar/checked-grammar.ts";
import { compiledGbnf, compileGbnf } from "../../../../../grammar/gbnf/compile-gbnf.ts";
import { GbnfError } from "../../../../../grammar/gbnf/gbnf.ts";
import type { JsonSchema } from "../../../../../grammar/schema/keywords.ts";

const OWNER = { tier: "default", isWanted: () => true } as const;
const pieces = ["", '{"', '"', "p", "1", '":', "}", "[", ",", " ", "é", "true"].map((text) => Buffer.from(text));
const VOCABULARY = {
  size: pieces.length,
  endTokens: [0],
  isEnd: (token: number) => token === 0,
  piece: (token: number) => pieces[token]!,
};

/** Slices on a clock that advances by a millisecond with every reading, and the turns between them. */
function slices(onRest: () => void = () => {}) {
  let time = 0;
  const counted = { rests: 0, slices: new Slices({ now: () => time++, nextTurn: rest }) };
  async function rest() {
    counted.rests++;
    onRest();
  }
  return counted;
}

function wide(properties: number): string {
  const names = Array.from({ length: properties }, (_, i) => [`p${i}`, { type: ["string", "null"], maxLength: 5 }]);
  return schemaGrammar({ type: "object", properties: Object.fromEntries(names) });
}

function pausesOf(gbnf: string): number {
  let pauses = 0;
  for (const _ of compiledGbnf(gbnf)) pauses++;
  return pauses;
}

describe("grammars are compiled in slices between the steps", () => {
  test("many of them for a large grammar of any kind", () => {
    const many = Array.from({ length: 5000 }, (_, i) => `"${i}"`);
    for (const gbnf of [wide(300), `root ::= ${many.join(" | ")}`, `root ::= [a-z]{0,9000}`]) {
      const { length } = compileGbnf(gbnf).edges;
      expect(length).toBeGreaterThan(5000);
      // Its nodes are made, numbered by classes, and walked twice.
      expect(pausesOf(gbnf)).toBeGreaterThan((4 * length) / 256);
    }
    expect(pausesOf('root ::= "a"')).toBe(0);
  });

  test("with a turn of the event loop after each", async () => {
    const gbnf = wide(400);
    const counted = slices();
    await counted.slices.run(compiledGbnf(gbnf));
    // Two pauses are the most that this clock allows to a slice.
    expect(counted.rests).toBe(Math.floor(pausesOf(gbnf) / 2));
    expect(counted.rests).toBeGreaterThan(100);
  });

  test("so that a small one ends before a large one", async () => {
    const ended: string[] = [];
    const { slices: subject } = slices();
    const large = subject.run(compiledGbnf(wide(100))).then(() => ended.push("large"));
    await Promise.all([large, subject.run(compiledGbnf('root ::= "a"')).then(() => ended.push("small"))]);
    expect(ended).toEqual(["small", "large"]);
  });

  test("and equal those that are compiled at once", async () => {
    const value = fc.letrec<{ schema: JsonSchema }>((tie) => ({
      schema: fc.oneof(
        { depthSize: "small" },
        fc.constantFrom<JsonSchema>(
          { type: "string", maxLength: 300 },
          { type: "integer", minimum: 7 },
          { type: "null" },
        ),
        fc.record({ type: fc.constant("array" as const), items: tie("schema") }),
        fc
          .dictionary(fc.string({ minLength: 1, maxLength: 4 }), tie("schema"), { maxKeys: 5 })
          .map((properties): JsonSchema => ({ type: "object", properties })),
      ),
    })).schema;
    await fc.assert(
      fc.asyncProperty(value, value, async (one, other) => {
        const grammars = [schemaGrammar(one), schemaGrammar(other)];
        const { slices: subject } = slices();
        const together = await Promise.all(grammars.map((gbnf) => subject.run(compiledGbnf(gbnf))));
        expect(together).toEqual(grammars.map((gbnf) => compileGbnf(gbnf)));
      }),
      { numRuns: 25 },
    );
  });

  test("with equal masks", async () => {
    const rule = { gbnf: wide(40) };
    const grammars = new VocabularyGrammars(VOCABULARY, slices().slices);
    await grammars.prepare(rule, OWNER);
    const masks = [grammars.kept(rule)!, new Automaton(compileGbnf(rule.gbnf))].map((automaton) => {
      const after = ["", '{"', '{"p1', '{"p1":"é', '{"p1":"é"}'].map((text) => Buffer.from(text));
      return after.map((text) => grammars.allowed(automaton, automaton.walk(automaton.start, text)!));
    });
    expect(masks[0]).toEqual(masks[1]);
  });
});

describe("a grammar of several requests", () => {
  test("is compiled once for all of them", async () => {
    const rule = { gbnf: wide(30) };
    const counted = slices();
    const grammars = new VocabularyGrammars(VOCABULARY, counted.slices);
    await Promise.all([1, 2, 3].map(() => grammars.prepare({ ...rule }, OWNER)));
    const { rests } = counted;
    expect(rests).toBe(Math.floor(pausesOf(rule.gbnf) / 2));
    const automaton = grammars.kept(rule);
    expect(automaton).not.toBeNull();
    await grammars.prepare(rule, OWNER);
    expect(grammars.kept(rule)).toBe(automaton);
    expect(counted.rests).toBe(rests);
  });

  test("is refused for each of them where it is invalid, and others are compiled after it", async () => {
    const grammars = new VocabularyGrammars(VOCABULARY, slices().slices);
    const wrong = `${wide(30)}\nroot ::= "twice"`;
    const refused = [1, 2].map(() => expect(grammars.prepare({ gbnf: wrong }, OWNER)).rejects.toThrow(GbnfError));
    await Promise.all(refused);
    await grammars.prepare({ gbnf: 'root ::= "a"' }, OWNER);
  });

  test("is not compiled for a request that is cancelled before it", async () => {
    let wanted = true;
    const counted = slices(() => {
      wanted = false;
    });
    const grammars = new VocabularyGrammars(VOCABULARY, counted.slices);
    const [one, two, cancelled] = [wide(30), wide(31), wide(300)];
    const first = [one, two].map((gbnf) => grammars.prepare({ gbnf }, OWNER));
    await Promise.all([...first, grammars.prepare({ gbnf: cancelled }, { ...OWNER, isWanted: () => wanted })]);
    expect(counted.rests).toBeLessThan(pausesOf(cancelled) / 2);
  });
});
