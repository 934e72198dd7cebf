import { KeyRing } from "../../ledger/key-ring.ts";
import { MachineTime } from "../../ledger/machine-time.ts";
import { OwnerBudgets } from "../../ledger/owner-budgets.ts";
import {
  DEFAULT_PRICES,
  DEFAULT_TIER_FACTORS,
  type ModelPrice,
  Prices,
  type TierFactors,
} from "../../ledger/prices.ts";
import { UsageLedger } from "../../ledger/usage-ledger.ts";
import { epochSeconds } from "../../platform/clock.ts";
import { BudgetWarnings } from "../../webhooks/budget-warnings.ts";
import { BudgetMetrics } from "../metrics/limit-metrics.ts";
import { MachineTimeMetrics } from "../metrics/machine-time-metrics.ts";
import { showMachinePrice } from "../metrics/objective-metrics.ts";
import { machinePrice } from "../options/app-options.ts";
import type { LiveOptions } from "../options/live-options.ts";
import { keysAreOn } from "../options/rules.ts";
import type { Composition } from "./composition.ts";
import { withDiskAdvice } from "./disk-error.ts";
import type { StorageParts } from "./storage.ts";
import type { WebhookParts } from "./webhooks.ts";

export interface AccountingParts {
  prices: Prices;
  ledger: UsageLedger;
  keys: KeyRing;
  owners: OwnerBudgets;
  machineTime: MachineTime;
}

/** Money, API keys and budgets. The ledger stops before the budget warnings, which read what it charges. */
export async function startAccounting(
  composition: Composition,
  { store, time }: StorageParts,
  { endpoints, delivery }: WebhookParts,
): Promise<AccountingParts> {
  const { options, clock, log, registry, metrics, parts } = composition;
  const now = () => epochSeconds(clock);
  const prices = new Prices(...pricing(options.current));
  // The price of a request is that at its end.
  options.watch((next) => prices.replace(...pricing(next)));
  showMachinePrice(registry, machinePrice(options.current));
  const warnings = new BudgetWarnings({
    store,
    endpoints,
    eventsQueued: () => delivery.wake(),
    observer: new BudgetMetrics(registry),
    log,
    epochMs: () => time.epochMs(),
  });
  await parts.start({ name: "budget warnings", start: () => warnings.start(), stop: () => warnings.stop() });
  const ledger = await parts.start({
    name: "ledger",
    start: () => new UsageLedger({ store, prices, sinks: [metrics, warnings], faults: metrics, log, now }),
    stop: (started) => started.flush(),
  });
  const keys = await parts.start({
    name: "API keys",
    start: () => new KeyRing({ store, adminKey: options.current.adminKey, log, now }),
    stop: (started) => started.close(),
  });
  const owners = await OwnerBudgets.open(store);
  const machineTime = new MachineTime({ store, sink: new MachineTimeMetrics(registry), log, clock });
  await parts.start({ name: "machine time", start: () => machineTime.start(), stop: () => machineTime.close() });
  return { prices, ledger, keys, owners, machineTime };
}

/** Makes and prints the administrator's key of a server whose API keys are on and that has none. */
export async function makeFirstKey({ options, print }: Composition, { keys }: AccountingParts): Promise<void> {
  const { current } = options;
  if (!keysAreOn(current)) return;
  const first = await withDiskAdvice(current.dataDir, () => keys.createFirst());
  if (first === null) return;
  print(`API keys are on, and there was none. This one may do everything; it is shown this once:

  ${first.secret}

`);
}

/** The arguments of Prices. */
function pricing({
  prices,
  tierFactors,
}: Pick<LiveOptions, "prices" | "tierFactors">): [Record<string, ModelPrice>, TierFactors] {
  return [
    { ...DEFAULT_PRICES, ...prices },
    { ...DEFAULT_TIER_FACTORS, ...tierFactors },
  ];
}
