import { expect, test } from "vitest";
import type { LoadResult } from "../../../bench/target/load.ts";
import { reuse } from "../../../bench/target/report.ts";

const result = (cachedTokens: number) => ({ requests: 32, promptTokens: 4096, cachedTokens }) as LoadResult;

test("cached prompts cause a warning, chance hits and shared prefixes do not", () => {
  expect(reuse("peer", result(5), 0)).toEqual([]);
  expect(reuse("peer", result(32 * 100), 100)).toEqual([]);
  expect(reuse("peer", result(635), 0)).toEqual([expect.stringContaining("635 of 4096")]);
});
