import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JSON_BOUNDS, JsonScan } from "../../../openapi/json/json-scan.ts";
import { parseJson } from "../../../openapi/json/json-text.ts";

const { depth, containers, members, values, name } = JSON_BOUNDS;

const list = (item: string, count: number) => `[${Array(count).fill(item).join()}]`;
const scan = (text: string) => new JsonScan().push(text);

describe("the bounds on a JSON text", () => {
  it.each([
    ["levels", (count: number) => "[".repeat(count) + "]".repeat(count), depth],
    ["arrays and objects", (count: number) => list("[]", count - 1), containers],
    ["arrays and objects", (count: number) => list("{}", count - 1), containers],
    ["object members", (count: number) => `{${Array(count).fill('"k":1').join()}}`, members],
    ["values", (count: number) => list("1", count), values],
    ["name", (count: number) => `{"${"k".repeat(count)}":1}`, name],
  ])("%s", (what, text, most) => {
    expect(scan(text(most))).toBeNull();
    expect(scan(text(most + 1))).toContain(`${most}`);
    expect(scan(text(most + 1))).toContain(what);
  });

  it("ignore punctuation within strings, at any division of the text", () => {
    const text = JSON.stringify({ 'a[{,:"\\': ["[{:,", "\\", '\\"', 'é"{', "\\\\[["] });
    fc.assert(
      fc.property(fc.array(fc.nat({ max: text.length }), { maxLength: 8 }), (cuts) => {
        // A count that is wrong by one container or level is visible at exactly the bound.
        const counted = new JsonScan();
        counted.push("[".repeat(depth - 2));
        let from = 0;
        for (const cut of [...cuts.toSorted((a, b) => a - b), text.length]) {
          expect(counted.push(text.slice(from, cut))).toBeNull();
          from = cut;
        }
        expect(counted.push("[[")).toBeNull();
        expect(counted.push("[")).toContain("levels");
      }),
    );
  });

  it("refuse a text before it is parsed", () => {
    const text = list("[]", 300_000);
    expect(() => parseJson(Buffer.from(text))).toThrow(
      expect.objectContaining({ status: 400, message: expect.stringContaining(`more than ${containers} arrays`) }),
    );
  });
});
