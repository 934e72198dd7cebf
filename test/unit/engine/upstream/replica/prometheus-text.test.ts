import fc from "fast-check";
import { expect, it, test } from "vitest";
import { readSamples } from "../../../../../engine/upstream/replica/prometheus-text.ts";

const read = (text: string) =>
  readSamples(text, new Set(["a", "b:c"])).map((one) => ({ ...one, labels: { ...one.labels } }));
const sample = (value: number, labels: Record<string, string> = {}, name = "a") => [{ name, labels, value }];

test.each([
  ["a 1", sample(1)],
  ["a\t1", sample(1)],
  ["a 1 1732428000000", sample(1)],
  ["a{} 1.5e3", sample(1500)],
  ['b:c{x="1"} -2', sample(-2, { x: "1" }, "b:c")],
  ['a{x="1",y="2"} 3', sample(3, { x: "1", y: "2" })],
  ['a { x = "1" , y = "2", } 3', sample(3, { x: "1", y: "2" })],
  ['a{x="} 7, \\"q\\" \\\\ \\n"} 3', sample(3, { x: '} 7, "q" \\ \n' })],
  ['a{x="1"} 3 # {trace="t"} 0.5 1', sample(3, { x: "1" })],
  ['a{__proto__="1"} 3', [{ name: "a", labels: JSON.parse('{"__proto__":"1"}'), value: 3 }]],
  ["a 1\r", sample(1)],
  ["# HELP a text\n# TYPE a gauge\n\na 1\n", sample(1)],
  ["other 1", []],
  ["ab 1", []],
  ["a NaN", []],
  ["a +Inf", []],
  ["a", []],
  ["a one", []],
  ['a{x="1" 2', []],
  ["a{x=1} 2", []],
  ['a{x="1"y="2"} 2', []],
  ['a{x="1"} 2\na{x= 3\na 4', [...sample(2, { x: "1" }), ...sample(4)]],
])("%j", (text, expected) => {
  expect(read(text)).toEqual(expected);
});

it("reads no line, no text and no labels beyond its bounds", () => {
  expect(read(`a{x="${"y".repeat(9000)}"} 1\na 2`)).toEqual(sample(2));
  expect(read(`${"#".repeat(4_194_304)}\na 2`)).toEqual([]);
  expect(read(`${"\n".repeat(50_000)}a 2`)).toEqual([]);
  expect(read(`a{${Array.from({ length: 65 }, (_, i) => `l${i}="1"`).join(",")}} 2`)).toEqual([]);
});

it("reads back any labels and values that are written by the rules", () => {
  const name = fc.stringMatching(/^[a-z_][a-z0-9_]{0,8}$/);
  // No negative zero, which JavaScript writes as 0.
  const value = fc.double({ noNaN: true, noDefaultInfinity: true }).map((one) => one + 0);
  const escaped = (text: string) => text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
  fc.assert(
    fc.property(
      fc.dictionary(name, fc.string({ unit: "grapheme" }), { noNullPrototype: true }),
      value,
      (labels, number) => {
        const text = Object.entries(labels).map(([label, one]) => `${label}="${escaped(one)}"`);
        expect(read(`a{${text.join(",")}} ${number}`)).toEqual(sample(number, labels));
      },
    ),
  );
});

it("takes any text without throwing", () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.string(), fc.constantFrom("a{", 'x="', "\\", "}", " 1", "\n"))), (parts) => {
      for (const one of read(parts.join(""))) expect(Number.isFinite(one.value)).toBe(true);
      for (const one of read(`a${parts.join("")}`)) expect(Number.isFinite(one.value)).toBe(true);
    }),
  );
});
