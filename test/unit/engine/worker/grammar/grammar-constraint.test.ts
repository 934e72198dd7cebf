import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Automaton } from "../../../../../engine/worker/grammar/automaton.ts";
import { type ConstraintOptions, GrammarConstraint } from "../../../../../engine/worker/grammar/grammar-constraint.ts";
import { redrawRefused } from "../../../../../engine/worker/grammar/resample.ts";
import { VocabularyGrammars } from "../../../../../engine/worker/grammar/vocabulary-grammar.ts";
import { compileGbnf } from "../../../../../grammar/gbnf/compile-gbnf.ts";

const END = 0;
/** Tokens by their text; the first ends an answer, the second has no text. */
const TEXTS = [
  "",
  "",
  "a",
  "b",
  "ab",
  "{",
  "}",
  '{"a',
  "<think>",
  "</think>",
  "\n\n",
  "<call>",
  "x<call>",
  "é",
  " ",
  "1",
];
const pieces = [...TEXTS.map((text) => Buffer.from(text)), Buffer.of(0xc3), Buffer.of(0xa9)];
const [HALF, OTHER_HALF] = [TEXTS.length, TEXTS.length + 1];
const grammars = new VocabularyGrammars({
  size: pieces.length,
  endTokens: [END],
  isEnd: (token) => token === END,
  piece: (token) => pieces[token]!,
});

const OWNER = { tier: "default", isWanted: () => true } as const;

type Change = Partial<Omit<ConstraintOptions, "wake">> & { triggers?: string[] };

async function constraint(gbnf: string, change: Change = {}): Promise<GrammarConstraint> {
  const rule = { gbnf, triggers: change.triggers ?? null };
  return new Promise((resolve) => {
    const options = { rule, grammars, reasoningTags: null, startsInReasoning: false, ...change };
    const subject = new GrammarConstraint({ ...options, wake: () => resolve(subject) });
    if (subject.ready(OWNER)) resolve(subject);
  });
}

function at(subject: GrammarConstraint, ...texts: (string | number)[]): GrammarConstraint {
  for (const text of texts) {
    const token = typeof text === "number" ? text : TEXTS.indexOf(text);
    expect(subject.allows(token), `"${text}"`).toBe(true);
    subject.accept(token);
  }
  return subject;
}

function allowed(subject: GrammarConstraint): string[] {
  return [...pieces.keys()].filter((token) => subject.allows(token)).map((token) => TEXTS[token] || String(token));
}

const TAGS = { reasoningTags: { open: "<think>", close: "</think>" } };

describe("a sequence is restricted to its grammar", () => {
  test("from its first token to its end", async () => {
    const subject = await constraint('root ::= "a" "b"+');
    expect(allowed(subject)).toEqual(["a", "ab"]);
    at(subject, "ab");
    expect(allowed(subject)).toEqual([String(END), "b"]);
    expect(subject.over).toBe(false);
    expect(() => subject.accept(TEXTS.indexOf("a"))).toThrow("does not allow");
  });

  test("until only an end token may follow", async () => {
    expect(at(await constraint('root ::= "ab"'), "a", "b").over).toBe(true);
  });

  test("with half a character in one token", async () => {
    const subject = at(await constraint("root ::= [é]"), HALF);
    expect(allowed(subject)).toEqual([String(OTHER_HALF)]);
  });

  test("after the reasoning that the prompt opened", async () => {
    const subject = await constraint('root ::= "ab"', { ...TAGS, startsInReasoning: true });
    at(subject, "x<call>", "{");
    expect(subject.allows(END)).toBe(false);
    at(subject, "</think>", "\n\n");
    expect(subject.allows(TEXTS.indexOf("b"))).toBe(false);
    expect(at(subject, "ab").over).toBe(true);
  });

  test("after reasoning that it opens itself, or without any", async () => {
    expect(at(await constraint('root ::= "ab"', TAGS), "<think>", "b", "</think>", "ab").over).toBe(true);
    expect(at(await constraint('root ::= "ab"', TAGS), "ab").over).toBe(true);
    expect((await constraint('root ::= "ab"')).allows(TEXTS.indexOf("<think>"))).toBe(false);
  });

  test("from a call within reasoning on", async () => {
    const called = { ...TAGS, startsInReasoning: true, callMarks: ["{a"] };
    expect(allowed(at(await constraint('root ::= "{a" "1"', called), "b", "{", "a"))).toEqual(["1"]);
    expect(allowed(at(await constraint('root ::= "{a" "1"', { ...called, triggers: ["{"] }), "{", "a"))).toEqual(["1"]);
    // The grammar does not begin with the call, so the call can't come.
    expect(at(await constraint('root ::= "1"', called), "{").allows(TEXTS.indexOf("ab"))).toBe(false);
    expect(at(await constraint('root ::= "1"', called), "</think>", "1").over).toBe(true);
  });

  test("after reasoning that is empty and closed without a beginning", async () => {
    expect(at(await constraint('root ::= "ab"', TAGS), "</think>", "\n\n", "ab").over).toBe(true);
    expect((await constraint('root ::= "ab"')).allows(TEXTS.indexOf("</think>"))).toBe(false);
  });

  test("after reasoning whose tag begins with a token of its own", async () => {
    const tags = { reasoningTags: { open: "<think>ab", close: "</think>", openToken: "<think>" } };
    expect(at(await constraint('root ::= "1"', tags), "<think>", "ab", "b", "</think>", "1").over).toBe(true);
  });

  test("after a bounded amount of white space", async () => {
    const subject = at(
      await constraint('root ::= "ab"', TAGS),
      "<think>",
      "</think>",
      ..."12345678".split("").map(() => "\n\n"),
    );
    expect(subject.allows(TEXTS.indexOf("\n\n"))).toBe(false);
  });

  test("from a trigger's first character", async () => {
    const lazy = { triggers: ["<call>"] };
    const subject = at(await constraint('root ::= "<call>" "1"', lazy), "b", "{", "x<call>");
    expect(allowed(subject)).toEqual(["1"]);
    expect(at(await constraint('root ::= "<call>" "1"', lazy), "b").allows(END)).toBe(true);
    // The grammar does not begin as the trigger does, so the trigger can't come.
    expect((await constraint('root ::= "1"', lazy)).allows(TEXTS.indexOf("<call>"))).toBe(false);
  });

  test("from a trigger that came in parts", async () => {
    expect(allowed(at(await constraint('root ::= "a{" "1"', { triggers: ["a{"] }), "b", "ab", "a", "{"))).toEqual([
      "1",
    ]);
  });
});

describe("a refused token is drawn again", () => {
  const highest = (logits: Float32Array) => logits.indexOf(Math.max(...logits));

  async function draw(subject: GrammarConstraint, logits: Float32Array) {
    const one = { constraint: subject, row: 0, token: highest(logits) };
    let rounds = 0;
    const sample = async () => {
      rounds++;
      return [highest(logits)];
    };
    const stuck = await redrawRefused([one], { logits: () => logits, sample });
    return { token: stuck.has(one) ? null : one.token, rounds };
  }

  test("not at all when it is allowed", async () => {
    const logits = Float32Array.from(pieces, (_, token) => (TEXTS[token] === "a" ? 9 : token / 100));
    expect(await draw(await constraint('root ::= "a" | "b"'), logits)).toEqual({
      token: TEXTS.indexOf("a"),
      rounds: 0,
    });
  });

  test("without a draw where one token is left", async () => {
    const logits = Float32Array.from(pieces, (_, token) => token);
    expect(await draw(await constraint('root ::= "b"'), logits)).toEqual({ token: TEXTS.indexOf("b"), rounds: 0 });
  });

  test("never as one that a rule forbids: then the sequence is stuck", async () => {
    const forbidden = (token: number) => (TEXTS[token] === "b" ? Number.NEGATIVE_INFINITY : 1);
    const logits = Float32Array.from(pieces, (_, token) => forbidden(token));
    expect((await draw(await constraint('root ::= "b"'), logits)).token).toBeNull();
  });

  test("as the highest of the tokens that any grammar allows", async () => {
    const grammar = 'root ::= ("a" | "{" | "é" "1")* "ab" "}"? [ \\n]*';
    await fc.assert(
      fc.asyncProperty(fc.array(fc.float({ min: -9, max: 9, noNaN: true }), { minLength: 200 }), async (noise) => {
        const subject = await constraint(grammar);
        const automaton = new Automaton(compileGbnf(grammar));
        let state = automaton.start;
        for (let step = 0; step < 8; step++) {
          const logits = Float32Array.from(pieces, (_, token) => noise[step * pieces.length + token] ?? 0);
          const may = (token: number) =>
            token === END
              ? state.complete
              : pieces[token]!.length > 0 && automaton.walk(state, pieces[token]!) !== null;
          const best = Math.max(...[...logits].filter((_, token) => may(token)));
          const { token } = await draw(subject, logits.slice());
          expect(may(token!)).toBe(true);
          expect(logits[token!]).toBe(best);
          if (token === END) return;
          subject.accept(token!);
          state = automaton.walk(state, pieces[token!]!)!;
        }
      }),
      { numRuns: 50 },
    );
  });
});

test("grammars past the bound are dropped, and sequences go on in theirs", async () => {
  const gbnf = 'root ::= "ab" "1"{4}';
  const subject = at(await constraint(gbnf), "ab", "1");
  for (let i = 0; i < 200; i++) await grammars.prepare({ gbnf: `root ::= "${i}"` }, OWNER);
  expect(grammars.kept({ gbnf })).toBeNull();
  expect(allowed(subject)).toEqual(["1"]);
});
