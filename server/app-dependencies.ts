import type { Batches } from "../batch/api/batches.ts";
import type { Jobs } from "../batch/api/jobs.ts";
import type { OwnerErasures } from "../batch/api/owner-erasure.ts";
import type { FileStore } from "../files/file-store.ts";
import type { UploadStore } from "../files/upload-store.ts";
import type { KeyRing } from "../ledger/key-ring.ts";
import type { OwnerBudgets } from "../ledger/owner-budgets.ts";
import type { Prices } from "../ledger/prices.ts";
import type { UsageLedger } from "../ledger/usage-ledger.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Store } from "../store/store.ts";
import type { ModelLoads } from "./admission/model-load.ts";
import type { Grammars } from "./grammar/grammar-compiler.ts";
import type { Metrics } from "./metrics/metrics.ts";
import type { ModelSet } from "./models/model-set.ts";
import type { Residency } from "./models/residency.ts";
import type { AppOptions } from "./options/app-options.ts";

/** All that the HTTP side needs from outside: nothing in it reads a clock, draws at random or logs by other means. */
export interface AppDependencies {
  models: ModelSet;
  /** Brings models into memory when they are asked for. */
  residency: Residency;
  /** What each model has to do; shared with the batch side, which must know who else is in an engine. */
  loads: ModelLoads;
  /** The share of time that online work takes of a model's engine, 0 to 1. */
  onlineShare: (model: string) => number;
  metrics: Metrics;
  grammars: Grammars;
  store: Store;
  batches: Batches;
  jobs: Jobs;
  files: FileStore;
  uploads: UploadStore;
  keys: KeyRing;
  owners: OwnerBudgets;
  erasures: OwnerErasures;
  /** Takes a row for every request that was answered. */
  ledger: UsageLedger;
  /** For estimates; the ledger prices by itself. */
  prices: Prices;
  log: Log;
  clock: Clock;
  /** 16 or more unguessable characters of [A-Za-z0-9], new on every call; becomes part of ids such as `chatcmpl-…`. */
  randomId: () => string;
  /** In [0, 1). */
  random: () => number;
  /** True once the server is to shut down: /ready is 503. */
  ending: () => boolean;
  /** True once new generations are refused for it. */
  draining: () => boolean;
  /** The server's version, for /health and /openapi.json. */
  version: string;
  options: AppOptions;
}
