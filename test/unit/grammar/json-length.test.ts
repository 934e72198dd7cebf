import fc from "fast-check";
import { expect, it } from "vitest";
import { isLongerThan, jsonWithin } from "../../../grammar/schema/json-length.ts";

it("compares the length of a value as JSON with a bound", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.integer({ min: -3, max: 3 }), (value, more) => {
      const { length } = JSON.stringify(value);
      expect(isLongerThan(value, length + more)).toBe(more < 0);
      expect(jsonWithin(value, length + more)).toBe(more < 0 ? null : JSON.stringify(value));
    }),
  );
});

it("visits a long value only up to the bound", () => {
  let looks = 0;
  const item = {
    get x() {
      looks++;
      return "text";
    },
  };
  expect(isLongerThan(Array(100_000).fill(item), 1000)).toBe(true);
  expect(looks).toBeLessThan(200);
});
