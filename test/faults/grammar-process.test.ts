import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { schemaGrammar } from "../../grammar/checked-grammar.ts";
import type { GrammarSource } from "../../grammar/kept-grammars.ts";
import { GrammarCompiler } from "../../server/grammar/grammar-compiler.ts";
import { GrammarLost, GrammarProcess, type GrammarProcessOptions } from "../../server/grammar/grammar-process.ts";

const entry = fileURLToPath(new URL("../../dist/server/grammar/main.js", import.meta.url));
const PERSON = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
const GOOD: GrammarSource = { kind: "schema", text: JSON.stringify(PERSON) };
/** Its grammar takes far more than a heap of 14 MB. */
const properties = Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`p${i}`, { type: "string" }]));
const LARGE: GrammarSource = { kind: "schema", text: JSON.stringify({ type: "object", properties }) };

function started(options: GrammarProcessOptions): GrammarProcess {
  const made = new GrammarProcess({ entry, ...options });
  onTestFinished(() => made.stop());
  return made;
}

test("the process makes the same grammars, and the same errors", async () => {
  const grammars = started({});
  expect(await grammars.make(GOOD)).toEqual({ grammar: schemaGrammar(PERSON) });
  const { pid } = grammars;
  expect(await grammars.make({ kind: "schema", text: '{"not":{}}' })).toMatchObject({ fault: "schema", path: ["not"] });
  expect(await grammars.make({ kind: "gbnf", text: "root ::= none" })).toMatchObject({ fault: "gbnf" });
  expect(grammars.pid).toBe(pid);
});

test("a schema that exhausts the process's memory fails alone", async () => {
  const grammars = started({ heapMb: 14 });
  await expect(grammars.make(LARGE)).rejects.toThrow(GrammarLost);
  expect(await grammars.make(GOOD)).toEqual({ grammar: schemaGrammar(PERSON) });
});

test("a grammar that takes too long ends its process", async () => {
  await expect(started({ limitMs: 1 }).make(GOOD)).rejects.toThrow(GrammarLost);
});

test("short sources do not wait for a long one", async () => {
  const grammars = new GrammarCompiler({ entry });
  onTestFinished(() => grammars.stop());
  const never = new AbortController().signal;
  let over = false;
  const long = grammars
    .run(() => schemaGrammar({ type: "object", properties, title: "long" }), "a", never)
    .finally(() => {
      over = true;
    });
  const short = { ...PERSON, title: "short" };
  const whileLong = await grammars.run(() => schemaGrammar(short), "a", never).then(() => !over);
  await long;
  expect(whileLong).toBe(true);
  expect(await grammars.run(() => schemaGrammar(short), "a", never)).toBe(schemaGrammar(PERSON));
});
