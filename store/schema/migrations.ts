import { sql as initial } from "./001-initial.ts";
import { sql as settledUploads } from "./002-settled-uploads.ts";
import { sql as linesOnceChecked } from "./003-lines-once-checked.ts";
import { sql as keys } from "./004-keys.ts";
import { sql as budgets } from "./005-budgets.ts";
import { sql as machineTime } from "./006-machine-time.ts";
import { sql as boundedStatements } from "./007-bounded-statements.ts";
import { sql as usageHours } from "./008-usage-hours.ts";
import { sql as storage } from "./009-storage.ts";
import { sql as removedFiles } from "./010-removed-files.ts";
import { sql as validations } from "./011-validations.ts";
import { sql as retention } from "./012-retention.ts";
import { sql as surplusUploads } from "./013-surplus-uploads.ts";
import { sql as storedAnswers } from "./014-stored-answers.ts";
import { sql as responseStreams } from "./015-response-streams.ts";
import { sql as usageByVersion } from "./016-usage-by-version.ts";
import { sql as replicaLimits } from "./017-replica-limits.ts";

/** Ordered and forward-only: entry n−1 migrates to version n. A released migration is never changed. */
export const MIGRATIONS: readonly string[] = [
  initial,
  settledUploads,
  linesOnceChecked,
  keys,
  budgets,
  machineTime,
  boundedStatements,
  usageHours,
  storage,
  removedFiles,
  validations,
  retention,
  surplusUploads,
  storedAnswers,
  responseStreams,
  usageByVersion,
  replicaLimits,
];
