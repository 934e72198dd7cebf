import { call } from "../target/call.ts";
import { total } from "../target/counters.ts";
import type { Target } from "../target/target.ts";

/** Online requests as their clients saw them. */
export interface OnlineAccount {
  answered: number;
  /** In the middle of their answer. */
  left: number;
  failed: number;
  /** Of those answered. */
  completionTokens: number;
}

/** One batch as its object and its files tell of it. */
export interface BatchAccount {
  status: string;
  lines: number;
  /** Input lines that stand in neither file, and those that stand there more than once. */
  missing: number;
  twice: number;
  promptTokens: number;
  completionTokens: number;
  /** The same, of the answers in its output file. */
  filePromptTokens: number;
  fileCompletionTokens: number;
}

/** The same money and tokens, as three places have them. */
export interface Books {
  /** Growth of nightshift_ledger_cost_usd_total. */
  countedUsd: number;
  /** Growth of what /v1/organization/costs says. */
  ledgerUsd: number;
  onlineRequests: number;
  onlineCompletionTokens: number;
  batchRequests: number;
  batchPromptTokens: number;
  batchCompletionTokens: number;
}

export interface Accounts {
  online: OnlineAccount;
  batches: readonly BatchAccount[];
  books: Books;
  /** Where the server was killed: what the ledger may lack of the answers just before, and counters began anew. */
  unbooked?: { requests: number; tokens: number };
}

/** What does not agree; empty when all does. */
export function disagreements({ online, batches, books, unbooked }: Accounts): string[] {
  const found: string[] = [];
  const same = (what: string, a: number, b: number) => {
    if (a !== b) found.push(`${what}: ${a} and ${b}`);
  };
  const sum = (of: (batch: BatchAccount) => number) => batches.reduce((all, batch) => all + of(batch), 0);
  same(
    "input lines in no file",
    sum(({ missing }) => missing),
    0,
  );
  same(
    "input lines in the files more than once",
    sum(({ twice }) => twice),
    0,
  );
  const prompt = sum(({ promptTokens }) => promptTokens);
  const completion = sum(({ completionTokens }) => completionTokens);
  same(
    "prompt tokens of batch objects and output files",
    prompt,
    sum(({ filePromptTokens }) => filePromptTokens),
  );
  same(
    "completion tokens of batches and output files",
    completion,
    sum((batch) => batch.fileCompletionTokens),
  );
  same("prompt tokens of batch objects and ledger", prompt, books.batchPromptTokens);
  same("completion tokens of batch objects and ledger", completion, books.batchCompletionTokens);
  // to the nano-dollar, which the counter adds up in floating point
  if (unbooked === undefined)
    same("cost by counter and ledger, in nano-dollars", nano(books.countedUsd), nano(books.ledgerUsd));
  // who left is charged when something was computed, so between the two
  const { answered, left } = online;
  if (
    books.onlineRequests < answered - (unbooked?.requests ?? 0) ||
    books.onlineRequests > answered + left + online.failed
  )
    found.push(`online requests: ${answered} answered, ${left} left, and ${books.onlineRequests} in the ledger`);
  if (books.onlineCompletionTokens < online.completionTokens - (unbooked?.tokens ?? 0))
    found.push(`online tokens: ${online.completionTokens} seen, and ${books.onlineCompletionTokens} in the ledger`);
  return found;
}

function nano(usd: number): number {
  return Math.round(usd * 1e9);
}

interface UsagePage {
  data: {
    results: { batch: boolean | null; num_model_requests: number; input_tokens: number; output_tokens: number }[];
  }[];
}

interface CostsPage {
  data: { results: { amount: { value: number } }[] }[];
}

export async function readBooks(target: Target): Promise<Books> {
  const day = 86_400;
  const start = Math.floor(Date.now() / 1000) - day;
  const usage = await call<UsagePage>(
    target,
    `organization/usage/completions?start_time=${start}&bucket_width=1d&group_by=batch`,
    {},
  );
  const costs = await call<CostsPage>(target, `organization/costs?start_time=${start}`, {});
  const metrics = await (await fetch(new URL("/metrics", target.base))).text();
  const rows = usage.data.flatMap(({ results }) => results);
  const sum = (batch: boolean, of: (row: (typeof rows)[number]) => number) =>
    rows.filter((row) => row.batch === batch).reduce((all, row) => all + of(row), 0);
  return {
    countedUsd: total(metrics, "nightshift_ledger_cost_usd_total"),
    ledgerUsd: costs.data.flatMap(({ results }) => results).reduce((all, { amount }) => all + amount.value, 0),
    onlineRequests: sum(false, (row) => row.num_model_requests),
    onlineCompletionTokens: sum(false, (row) => row.output_tokens),
    batchRequests: sum(true, (row) => row.num_model_requests),
    batchPromptTokens: sum(true, (row) => row.input_tokens),
    batchCompletionTokens: sum(true, (row) => row.output_tokens),
  };
}

export function growth(before: Books, after: Books): Books {
  const keys = Object.keys(after) as (keyof Books)[];
  return Object.fromEntries(keys.map((key) => [key, after[key] - before[key]])) as unknown as Books;
}
