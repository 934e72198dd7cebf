import { expect, test } from "vitest";
import { type Accounts, type BatchAccount, disagreements } from "../../../bench/batch/books.ts";

const BATCH: BatchAccount = {
  status: "completed",
  lines: 10,
  missing: 0,
  twice: 0,
  promptTokens: 100,
  completionTokens: 50,
  filePromptTokens: 100,
  fileCompletionTokens: 50,
};

const AGREED: Accounts = {
  online: { answered: 8, left: 2, failed: 0, completionTokens: 80 },
  batches: [BATCH, { ...BATCH, status: "cancelled" }],
  books: {
    countedUsd: 0.1 + 0.2,
    ledgerUsd: 0.3,
    onlineRequests: 10,
    onlineCompletionTokens: 85,
    batchRequests: 20,
    batchPromptTokens: 200,
    batchCompletionTokens: 100,
  },
};

test("books that agree cause no disagreement", () => {
  expect(disagreements(AGREED)).toEqual([]);
});

test.each<[string, Partial<Accounts["books"]> | Partial<BatchAccount>, string]>([
  ["a nano-dollar too many", { countedUsd: 0.300000001 }, "cost by counter and ledger, in nano-dollars"],
  ["a line that was charged twice", { batchCompletionTokens: 105 }, "completion tokens of batch objects and ledger"],
  [
    "prompt tokens of a line that was not booked",
    { batchPromptTokens: 190 },
    "prompt tokens of batch objects and ledger",
  ],
  ["an answer that was not booked", { onlineRequests: 7 }, "online requests"],
  ["a request that was booked twice", { onlineRequests: 11 }, "online requests"],
  ["tokens that were seen and not booked", { onlineCompletionTokens: 79 }, "online tokens"],
])("%s", (_, wrong, said) => {
  const found = disagreements({ ...AGREED, books: { ...AGREED.books, ...wrong } });
  expect(found).toHaveLength(1);
  expect(found[0]).toContain(said);
});

test.each<[string, Partial<BatchAccount>, string]>([
  ["a line that stands in no file", { missing: 1 }, "input lines in no file: 1 and 0"],
  ["a line that stands there twice", { twice: 1 }, "input lines in the files more than once: 1 and 0"],
  [
    "a file that has more than its batch",
    { fileCompletionTokens: 55 },
    "completion tokens of batches and output files",
  ],
])("%s", (_, wrong, said) => {
  const found = disagreements({ ...AGREED, batches: [{ ...BATCH, ...wrong }, BATCH] });
  expect(found).toHaveLength(1);
  expect(found[0]).toContain(said);
});
