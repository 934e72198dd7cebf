import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import type { Automaton, State } from "../../../engine/worker/grammar/automaton.ts";
import { FORMATS } from "../../../grammar/language/formats.ts";
import type { JsonSchema } from "../../../grammar/schema/keywords.ts";
import { randomSchema } from "./random-schema.ts";
import { schemaAutomaton } from "./reads.ts";
import { schemaCheck } from "./schema-check.ts";

/** Bytes of the characters of which values consist, and those of a two-byte character. */
const BYTES = [...Buffer.from('{}[]",:.0123456789-eEabcknxyz \n\\uTZ'), 0xc3, 0xa9];
const MOST_BYTES = 4000;

/** A random text that the automaton allows; from 60 bytes on it takes the first allowed byte. Null if it did not end. */
function randomText(automaton: Automaton, pick: (below: number) => number): string | null {
  const bytes: number[] = [];
  let state: State = automaton.start;
  while (bytes.length < MOST_BYTES) {
    if (state.over || (state.complete && (bytes.length > 60 || pick(3) === 0))) {
      return Buffer.from(bytes).toString();
    }
    const all = [...BYTES, ...Array.from({ length: 256 }, (_, byte) => byte)];
    const allowed = (bytes.length > 60 ? [0x22, 0x5d, 0x7d, ...all] : all).filter(
      (byte) => automaton.step(state, byte) !== null,
    );
    if (allowed.length === 0) throw new Error(`Nothing may follow ${JSON.stringify(Buffer.from(bytes).toString())}`);
    const byte = bytes.length > 60 ? allowed[0]! : allowed[pick(Math.min(allowed.length, 40))]!;
    bytes.push(byte);
    state = automaton.step(state, byte)!;
  }
  return null;
}

test("texts of a schema's grammar are JSON that is valid by the schema", () => {
  fc.assert(
    fc.property(randomSchema, fc.gen(), (schema, gen) => {
      const automaton = schemaAutomaton(schema);
      const check = schemaCheck(schema);
      for (let i = 0; i < 3; i++) {
        const text = randomText(automaton, (below) => gen(fc.nat, { max: below - 1 }));
        if (text === null) continue;
        expect(check(JSON.parse(text)), `${text} by ${JSON.stringify(schema)}`).toBeNull();
      }
    }),
    { numRuns: 30 },
  );
});

test.each([...FORMATS.keys()])("texts of the format %s are valid", (format) => {
  const schema = { type: "string", format } as const;
  const automaton = schemaAutomaton(schema);
  const check = schemaCheck(schema);
  fc.assert(
    fc.property(fc.gen(), (gen) => {
      const text = randomText(automaton, (below) => gen(fc.nat, { max: below - 1 }));
      expect(text).not.toBeNull();
      expect(check(JSON.parse(text!)), text!).toBeNull();
    }),
    { numRuns: 40 },
  );
});

test.each<[string, z.ZodType]>([
  ["email", z.email()],
  ["date", z.iso.date()],
  ["date-time", z.iso.datetime()],
  ["date-time with an offset", z.iso.datetime({ offset: true })],
  ["time", z.iso.time()],
  ["duration", z.iso.duration()],
  ["hostname", z.hostname()],
  ["ipv4", z.ipv4()],
  ["ipv6", z.ipv6()],
  ["uuid", z.uuid()],
  ["a url", z.url()],
  ["a beginning", z.string().startsWith("a.b")],
  ["small letters", z.string().lowercase()],
  ["large letters", z.string().uppercase()],
  ["a record", z.record(z.string(), z.boolean())],
  ["a record of listed names", z.record(z.enum(["x", "y"]), z.int().min(0).max(9))],
  ["a part of a record", z.partialRecord(z.enum(["x", "y"]), z.null())],
])("what zod makes of %s can be enforced, and passes", (_, type) => {
  const automaton = schemaAutomaton(z.toJSONSchema(type) as JsonSchema);
  fc.assert(
    fc.property(fc.gen(), (gen) => {
      const text = randomText(automaton, (below) => gen(fc.nat, { max: below - 1 }));
      const result = type.safeParse(JSON.parse(text!));
      expect(result.success, `${text}: ${result.error?.message}`).toBe(true);
    }),
    { numRuns: 40 },
  );
});
