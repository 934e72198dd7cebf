import { milliseconds } from "./kinds/duration-kind.ts";
import { choice, either, integer, optional, size } from "./kinds/kind.ts";
import { row } from "./option.ts";

const MiB = 2 ** 20;
const GiB = 2 ** 30;

/** What bounds requests, storage and how long rows are kept; a part of the table. */
export const LIMIT_OPTIONS = {
  queueLimit: row(
    "Limits",
    integer(0, 1_000_000),
    512,
    "Requests that may wait, of a tier and those before it; the next one is answered 503, unless its owner has less than an " +
      "equal part of them.",
  ),
  maxWaitMs: row(
    "Limits",
    either(choice(["off"]), milliseconds(1, 86_400_000)),
    60_000,
    "How long an online request may be expected to wait, in milliseconds, before it is answered 503; off takes all that " +
      "--queue-limit lets in.",
  ),
  queueTimeoutMs: row(
    "Limits",
    either(choice(["off"]), milliseconds(1, 86_400_000)),
    "off",
    "How long a priority or default request that was let in may wait until it starts, in milliseconds, before it is answered " +
      "503; off lets it wait for as long as it takes. Flex has --flex-wait-ms.",
  ),
  flexWaitMs: row(
    "Limits",
    either(choice(["off"]), milliseconds(1, 86_400_000)),
    300_000,
    "How long a flex request may be expected to wait, or wait, before it is answered 429, in milliseconds.",
  ),
  maxBody: row("Limits", size(1024, GiB), 10 * MiB, "The largest request body."),
  bodyMemory: row(
    "Limits",
    size(1024, 64 * GiB),
    128 * MiB,
    "Bytes of all JSON bodies whose requests are read, wait or run, --max-body at least, shared between owners; more is answered 503. Of each, 64 KiB are not counted.",
  ),
  maxN: row("Limits", integer(1, 128), 16, "The most choices (`n`) that one request may ask for."),
  diskReserve: row(
    "Limits",
    size(0, 1024 * GiB),
    1_000_000_000,
    "Free disk space that clients' files leave for the database and results; an upload that would use it is answered 507.",
  ),
  storageQuota: row(
    "Limits",
    optional(size(0, 16_384 * GiB)),
    null,
    "The most bytes that one owner's files may take; each counts as 4 KiB at least.",
    "no bound but the disk",
  ),
  maxFiles: row(
    "Limits",
    integer(1, 100_000_000),
    1_000_000,
    "The most files of one owner; the next one is answered 507. Results of batches are kept all the same.",
  ),
  maxOpenBatches: row(
    "Limits",
    integer(1, 100_000),
    500,
    "The most batches of one owner that are not over; the next one is answered 429.",
  ),
  ledgerDays: row(
    "Retention",
    optional(integer(2, 36_500, "days")),
    null,
    "How long a row per request is kept in the ledger; sums by hour stay, and budgets and reports go by them.",
    "for ever",
  ),
  batchDays: row(
    "Retention",
    optional(integer(2, 36_500, "days")),
    null,
    "How long after their creation batches and jobs that are over are kept; their files have times of their own.",
    "for ever",
  ),
  fileDays: row(
    "Retention",
    optional(integer(1, 36_500, "days")),
    null,
    "How long any file is kept at most, unless a batch that is not over reads it.",
    "for ever, but for files that expire",
  ),
  keyDays: row(
    "Retention",
    optional(integer(1, 36_500, "days")),
    null,
    "How long API keys are kept that were revoked or expired.",
    "for ever",
  ),
  webhookDays: row(
    "Retention",
    integer(1, 36_500, "days"),
    30,
    "How long webhook events are kept that were delivered or given up.",
  ),
  maxConnections: row("Limits", integer(1, 1_000_000), 4096, "Open client connections; the next one is answered 503."),
};
