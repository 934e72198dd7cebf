import { DEFAULT_REQUEST_LIMITS } from "../../openapi/request-limits.ts";
import { milliseconds } from "./kinds/duration-kind.ts";
import { choice, either, integer, optional, size } from "./kinds/kind.ts";
import { row } from "./option.ts";

const MiB = 2 ** 20;
const GiB = 2 ** 30;

/** Options that limit requests, storage and retention; a part of the table. */
export const LIMIT_OPTIONS = {
  queueLimit: row(
    "Limits",
    integer(0, 1_000_000),
    512,
    "Maximum waiting requests of a tier and the tiers before it. A further request is answered with 503, unless its owner " +
      "has less than an equal share of the queue. One request may always wait.",
  ),
  maxWaitMs: row(
    "Limits",
    either(choice(["off"]), milliseconds(1, 86_400_000)),
    60_000,
    "Maximum predicted queue wait of a priority or default request, in milliseconds; above it the answer is 503. off " +
      "leaves only --queue-limit.",
  ),
  queueTimeoutMs: row(
    "Limits",
    either(choice(["off"]), milliseconds(1, 86_400_000)),
    "off",
    "Maximum queue wait of an admitted priority or default request, in milliseconds; after it the answer is 503. off sets " +
      "no maximum. For flex see --flex-wait-ms.",
  ),
  flexWaitMs: row(
    "Limits",
    either(choice(["off"]), milliseconds(1, 86_400_000)),
    300_000,
    "Maximum queue wait of a flex request, predicted and actual, in milliseconds; above it the answer is 429. off sets no maximum.",
  ),
  maxBody: row("Limits", size(1024, GiB), 10 * MiB, "Maximum size of a request body."),
  bodyMemory: row(
    "Limits",
    size(1024, 64 * GiB),
    128 * MiB,
    "Maximum total size of the JSON bodies of unfinished requests, at least --max-body, shared between owners. Above it the " +
      "answer is 503. The first 64 KiB of each body are not counted.",
  ),
  maxN: row("Limits", integer(1, 128), DEFAULT_REQUEST_LIMITS.choices, "Maximum choices (`n`) of one request."),
  diskReserve: row(
    "Limits",
    size(0, 1024 * GiB),
    1_000_000_000,
    "Disk space that uploads leave free for the database and result files. An upload that would use it is answered with 507.",
  ),
  storageQuota: row(
    "Limits",
    optional(size(0, 16_384 * GiB)),
    null,
    "Maximum total size of one owner's files and stored answers; a file counts as at least 4 KiB, an answer as 1 KiB.",
    "limited only by the disk",
  ),
  maxFiles: row(
    "Limits",
    integer(1, 100_000_000),
    1_000_000,
    "Maximum number of one owner's files. A further upload is answered with 507; result files of batches are always stored.",
  ),
  maxStored: row(
    "Limits",
    integer(0, 100_000_000),
    100_000,
    "Maximum number of one owner's stored responses, chat completions and conversations. A further one is answered with 507.",
  ),
  maxOpenBatches: row(
    "Limits",
    integer(1, 100_000),
    500,
    "Maximum unfinished batches of one owner. A further batch is answered with 429.",
  ),
  ledgerDays: row(
    "Retention",
    optional(integer(2, 36_500, "days")),
    null,
    "Days until a request's ledger row is removed. Hourly sums stay; budgets and reports use those.",
    "never",
  ),
  batchDays: row(
    "Retention",
    optional(integer(2, 36_500, "days")),
    null,
    "Days from creation until finished batches and jobs are removed. Their files expire separately.",
    "never",
  ),
  fileDays: row(
    "Retention",
    optional(integer(1, 36_500, "days")),
    null,
    "Days until a file is removed. A file that an unfinished batch reads is kept.",
    "never, except for files that expire",
  ),
  storedDays: row(
    "Retention",
    either(choice(["off"]), integer(1, 36_500, "days")),
    30,
    "Days until a stored response or chat completion is removed; off keeps them. Conversations are kept until they are " +
      "deleted, and the items of a response as long as a later one continues it.",
  ),
  keyDays: row(
    "Retention",
    optional(integer(1, 36_500, "days")),
    null,
    "Days until a revoked or expired API key is removed.",
    "never",
  ),
  webhookDays: row(
    "Retention",
    integer(1, 36_500, "days"),
    30,
    "Days until a webhook event that was delivered or given up is removed.",
  ),
  maxConnections: row(
    "Limits",
    integer(1, 1_000_000),
    4096,
    "Maximum open client connections. A further connection is answered with 503.",
  ),
};
