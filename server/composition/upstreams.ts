import type { UpstreamConfig } from "../../engine/upstream/dialect/upstream-config.ts";
import { Upstream } from "../../engine/upstream/upstream.ts";
import { epochSeconds } from "../../platform/clock.ts";
import { OptionsError } from "../../platform/options-error.ts";
import { UpstreamMetrics } from "../metrics/upstream-metrics.ts";
import { KeptLimits } from "../models/kept-limits.ts";
import type { ModelSet } from "../models/model-set.ts";
import { upstreamConfigs } from "../models/upstream-models.ts";
import type { AccountingParts } from "./accounting.ts";
import type { Composition } from "./composition.ts";
import type { StorageParts } from "./storage.ts";

/** Throws OptionsError for a configured name that another model has. */
function checkNames(configs: readonly UpstreamConfig[], taken: (name: string) => boolean): void {
  const seen = new Set<string>();
  for (const { name: upstream, models } of configs) {
    for (const name of Object.keys(models ?? {})) {
      if (!taken(name) && !seen.has(name)) seen.add(name);
      else
        throw new OptionsError(
          `The upstream '${upstream}' has a model '${name}', and another model has that name. A map of 'models' gives it another: { other-name: id-there }.`,
        );
    }
  }
}

/**
 * The upstreams of the options. Each is asked once for its models before the server listens; one that does not answer is asked
 * again, and its models are served from then on.
 */
export async function startUpstreams(
  { options, env, clock, random, randomId, log, registry, parts }: Composition,
  { store }: Pick<StorageParts, "store">,
  { ledger }: Pick<AccountingParts, "ledger">,
  models: ModelSet,
): Promise<readonly Upstream[]> {
  const configs = await upstreamConfigs(options.current, env);
  const limits = await KeptLimits.open({ store, clock, log });
  if (configs.length === 0) {
    await limits.watch([]);
    return [];
  }
  checkNames(configs, (name) => models.knows(name));
  const metrics = new UpstreamMetrics(registry);
  const upstreams = configs.map(
    (config) =>
      new Upstream(config, {
        ...{ clock, random, randomId, log },
        observer: metrics,
        firstLimits: (replica) => limits.of(config.name, replica),
        taken: (name) => models.knows(name),
        served: (engine) =>
          models.add({ id: engine.model, engine, created: epochSeconds(clock), upstream: config.name }),
      }),
  );
  metrics.watch(upstreams);
  ledger.tell(metrics);
  return parts.start({
    name: "upstreams",
    // In their order, so that models of one name get the same names at each start.
    start: async () => {
      await upstreams.reduce((before, upstream) => upstream.start(before), Promise.resolve());
      await limits.watch(upstreams);
      return upstreams;
    },
    stop: async () => {
      await Promise.all(upstreams.map((upstream) => upstream.stop()));
      await limits.close();
    },
  });
}
