import fc from "fast-check";
import { expect, test } from "vitest";
import { type Cell, csvText } from "../../../ledger/csv.ts";

/** A parser of RFC 4180: records end with CRLF, and a quoted field ends at a single quote character. */
function read(text: string): string[][] {
  const records: string[][] = [];
  let at = 0;
  while (at < text.length) {
    const record: string[] = [];
    for (;;) {
      const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/y;
      field.lastIndex = at;
      const match = field.exec(text);
      if (match === null) throw new Error(`No field at ${at} of ${JSON.stringify(text)}`);
      record.push(match[1]?.replaceAll('""', '"') ?? match[2]!);
      at = field.lastIndex;
      if (match[3] === "\r\n") break;
    }
    records.push(record);
  }
  return records;
}

const tricky = fc.string({ unit: fc.constantFrom("a", "=", "+", "-", "@", '"', ",", "\r", "\n", "\t", "'", " ", "ü") });
const cell: fc.Arbitrary<Cell> = fc.oneof(tricky, fc.string(), fc.integer(), fc.boolean(), fc.constant(null));

test("every table is parsed back unchanged except for apostrophes before formulas", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(cell, cell)), (rows) => {
      const columns = [0, 1].map((i) => [`column ${i}`, (row: readonly Cell[]) => row[i]!] as const);
      const [head, ...records] = read(csvText(columns, rows));
      expect(head).toEqual(["column 0", "column 1"]);
      const expected = rows.map((row) =>
        row.map((cell) => {
          const text = String(cell ?? "");
          return typeof cell === "string" && /^[=+\-@\t\r]/.test(cell) ? `'${text}` : text;
        }),
      );
      expect(records).toEqual(expected);
    }),
  );
});

test.each([
  ['=HYPERLINK("http://evil.example","x")', '"\'=HYPERLINK(""http://evil.example"",""x"")"'],
  ["+1", "'+1"],
  ["-2+3", "'-2+3"],
  ["@SUM(A1)", "'@SUM(A1)"],
  ["\t=1", "'\t=1"],
  [-2, "-2"],
  ["a=b", "a=b"],
])("%j is written as %s", (cell, written) => {
  expect(csvText([["name", () => cell]], [0])).toBe(`name\r\n${written}\r\n`);
});
