import { type ModelNames, modelNamed } from "../../engine/model-names.ts";
import type { FileStore } from "../../files/file-store.ts";
import { availableUntil, insufficientQuota } from "../../ledger/budget.ts";
import type { Caller } from "../../ledger/key.ts";
import { usdText } from "../../ledger/prices.ts";
import type { UsageLedger } from "../../ledger/usage-ledger.ts";
import { ApiError } from "../../openapi/api-error.ts";
import type { RequestLimits } from "../../openapi/request-limits.ts";
import { batchError } from "../../openapi/resources/batch-errors.ts";
import type { BatchError, BatchRequest } from "../../openapi/resources/batches.ts";
import type { Clock } from "../../platform/clock.ts";
import { dayOf } from "../../platform/utc-day.ts";
import type { Store } from "../../store/store.ts";
import type { FileRow } from "../../store/tables/files.ts";
import type { BatchRow } from "../../store/types/batch-row.ts";
import { bodyCheck } from "./body-check.ts";
import type { ModelBounds } from "./model-bounds.ts";
import { type Preview, preview } from "./preview.ts";

export interface TokenQuotaDeps {
  store: Pick<Store, "budgets" | "batches" | "files" | "keys" | "lines">;
  files: Pick<FileStore, "pathOf">;
  ledger: Pick<UsageLedger, "lineRates">;
  limits: RequestLimits;
  models: () => readonly string[];
  names: ModelNames;
  /** Of the models that are loaded, or were, by their own names. */
  bounds: () => ReadonlyMap<string, ModelBounds>;
  usualAnswer: (model: string) => number;
  clock: Clock;
}

/** Factor on a budget up to which a partly read file is accepted: its beginning may differ from the rest. */
const DOUBT = 2;

/**
 * Decides whether a batch may be enqueued, by the budgets of its owner and key until its deadline and by the enqueued tokens
 * of its key's batches. There are two checks: one of the beginning of the file before the batch is created, and one of all
 * lines after validation. The real cost is reserved of the budgets line by line, as the batch runs.
 */
export class TokenQuota {
  readonly #deps: TokenQuotaDeps;

  constructor(deps: TokenQuotaDeps) {
    this.#deps = deps;
  }

  /**
   * Estimates the tokens of a batch before it is created; 0 where nothing bounds them. Throws 429 insufficient_quota.
   *
   * @param input the row of its file, if it is created with the batch
   */
  async check(
    { owner, key }: Caller,
    request: BatchRequest,
    expiresAt: number,
    input: FileRow | null,
  ): Promise<number> {
    const { store, clock } = this.#deps;
    const statuses = await store.budgets.statuses({ owner, keyId: key?.id ?? null, day: dayOf(clock.epochMs()) });
    if (statuses.length === 0 && (key?.limits.enqueuedTokens ?? null) === null) return 0;
    const lastDay = dayOf(expiresAt * 1000);
    const available = availableUntil(statuses, lastDay);
    const seen = await this.#preview(owner, request, input);
    if (seen === null) return 0;
    // A batch that costs nothing is never refused, also on a budget of 0.
    const nano = this.#cost(seen.model, seen);
    if (nano > 0 && available === 0) {
      throw insufficientQuota(statuses.filter((one) => availableUntil([one], lastDay) === 0));
    }
    if (nano > available * (seen.whole ? 1 : DOUBT)) throw overBudget(overText(nano, available));
    return seen.estimatedTokens;
  }

  /** Reason that a validated batch may not be enqueued; null when it may. */
  async fault(batch: BatchRow, model: string): Promise<BatchError | null> {
    const { store, clock, usualAnswer } = this.#deps;
    const { id, owner, keyId, expiresAt } = batch;
    const statuses = await store.budgets.statuses({ owner, keyId, day: dayOf(clock.epochMs()) });
    const limit = keyId === null ? null : ((await store.keys.get({ id: keyId }))?.enqueuedTokens ?? null);
    if (statuses.length === 0 && limit === null) return null;
    const expected = await store.lines.expected({ batchId: id, usualAnswer: usualAnswer(model) });
    const nano = this.#cost(model, expected);
    const available = availableUntil(statuses, dayOf(expiresAt * 1000));
    if (nano > available) return batchError("insufficient_quota", overText(nano, available));
    if (keyId === null || limit === null) return null;
    const before = await store.batches.enqueuedTokens({ keyId, except: id });
    if (before + expected.estimatedTokens <= limit) return null;
    return batchError("token_limit_exceeded", tokensText(limit, before, expected.estimatedTokens));
  }

  async #preview(
    owner: string,
    { input_file_id: id, endpoint }: BatchRequest,
    input: FileRow | null,
  ): Promise<Preview | null> {
    const { store, files, limits, models, names, bounds, usualAnswer } = this.#deps;
    const file = input ?? (await store.files.get({ owner, id }));
    // Validation reports the error of the file.
    if (file === null) return null;
    const named = (name: string) => modelNamed(names, models(), name);
    const known = bounds();
    const check = bodyCheck(endpoint, limits, (name) => known.get(named(name) ?? ""));
    return preview(files.pathOf(id), file.bytes, { check, named, usualAnswer });
  }

  /** Nano-dollars. */
  #cost(model: string, { promptTokens, answerTokens }: { promptTokens: number; answerTokens: number }): number {
    const { inputNano, outputNano } = this.#deps.ledger.lineRates(model);
    return Math.ceil(promptTokens * inputNano + answerTokens * outputNano);
  }
}

/** A 429, as of OpenAI for limits, with `x-should-retry: false`: clients would retry within seconds, and batches take hours. */
export function tooManyTokens(limit: number, enqueued: number, tokens: number): ApiError {
  const message = tokensText(limit, enqueued, tokens);
  const code = "rate_limit_exceeded";
  return new ApiError(code, message);
}

function overBudget(message: string): ApiError {
  const code = "insufficient_quota";
  return new ApiError(code, message);
}

function overText(nano: number, available: number): string {
  return (
    `The batch would cost about ${usdText(nano)} USD, and your budgets have ${usdText(available)} USD until its window ` +
    "ends. Split it, or have a budget raised."
  );
}

function tokensText(limit: number, enqueued: number, tokens: number): string {
  return (
    `Enqueued token limit reached: limit ${limit}, enqueued ${enqueued}, this batch about ${tokens}. ` +
    (tokens > limit
      ? "It is more than the limit by itself: split it, or have the limit raised."
      : "Try again when some of your batches have ended.")
  );
}
