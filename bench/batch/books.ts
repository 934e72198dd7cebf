import { call } from "../target/call.ts";
import { total } from "../target/counters.ts";
import type { Target } from "../target/target.ts";

/** Online requests as counted by their clients. */
export interface OnlineAccount {
  answered: number;
  /** Cancelled by the client during the response. */
  left: number;
  failed: number;
  /** Tokens of the answered requests. */
  completionTokens: number;
}

/** One batch by its object and its files. */
export interface BatchAccount {
  status: string;
  lines: number;
  /** Input lines in neither file, and those that occur more than once. */
  missing: number;
  twice: number;
  promptTokens: number;
  completionTokens: number;
  /** The same, summed over the responses in its output file. */
  filePromptTokens: number;
  fileCompletionTokens: number;
}

/** The same cost and tokens from three sources. */
export interface Books {
  /** Increase of nightshift_ledger_cost_usd_total. */
  countedUsd: number;
  /** Increase of the costs of /v1/organization/costs. */
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
  /** Rows of the last answers that the ledger may lack, set after a kill of the server; counters restarted then. */
  unbooked?: { requests: number; tokens: number };
}

/** Differences between the sources; empty when all agree. */
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
  // to the nano-dollar, as the counter sums floating-point numbers
  if (unbooked === undefined)
    same("cost by counter and ledger, in nano-dollars", nano(books.countedUsd), nano(books.ledgerUsd));
  // a cancelled request is charged once it has a token, so the count lies between the two
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
