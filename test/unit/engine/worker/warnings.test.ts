import { expect, test } from "vitest";
import { longContext } from "../../../../engine/worker/warnings.ts";

test("a context beyond that of the training is a warning with both", () => {
  const plan = { kv: "split", cells: 131_072, ids: 2 } as const;
  const warning = longContext({ ...plan, context: 65_536 }, { trainedContext: 32_768 });
  expect(warning).toMatch(/--context 65536 is more than the 32768 tokens/);
  expect(longContext({ ...plan, context: 32_768 }, { trainedContext: 32_768 })).toBeNull();
});
