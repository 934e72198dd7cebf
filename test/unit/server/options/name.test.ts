import fc from "fast-check";
import { expect, it } from "vitest";
import { flagName, variableName } from "../../../../server/options/name.ts";
import { nearest } from "../../../../server/options/nearest.ts";
import { OPTION_KEYS } from "../../../../server/options/table.ts";

it("derives flag and variable from the key", () => {
  expect(flagName("dataDir")).toBe("--data-dir");
  expect(variableName("dataDir")).toBe("NIGHTSHIFT_DATA_DIR");
  expect(flagName("cacheTypeK")).toBe("--cache-type-k");
});

it("finds the key for a name with one missing or doubled letter", () => {
  const long = OPTION_KEYS.filter((key) => key.length > 5);
  fc.assert(
    fc.property(fc.constantFrom(...long), fc.nat(), fc.boolean(), (key, at, doubled) => {
      const i = at % key.length;
      const wrong = key.slice(0, i) + (doubled ? key[i]! + key[i]! : "") + key.slice(i + 1);
      const found = nearest(wrong, OPTION_KEYS);
      // cacheTypeK and cacheTypeV are one letter apart: either is right once that letter is gone.
      expect(found?.slice(0, -1)).toBe(key.slice(0, -1));
    }),
  );
});

it("suggests nothing for an unrelated word", () => {
  expect(nearest("zzzzzz", OPTION_KEYS)).toBeNull();
});
