import fc from "fast-check";
import { expect, it } from "vitest";
import { TextColumn } from "../../../../batch/validation/text-column.ts";

it("returns the texts that were added, over several pages", () => {
  const text = fc.string({ unit: "grapheme", maxLength: 30 }).map((one) => one.repeat(100));
  fc.assert(
    fc.property(fc.array(text, { maxLength: 100 }), (texts) => {
      const column = new TextColumn(100);
      for (const one of texts) column.push(one);
      expect(column.length).toBe(texts.length);
      expect(column.slice(0, texts.length)).toEqual(texts);
    }),
    { numRuns: 30 },
  );
});
