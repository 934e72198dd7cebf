import { Upstream } from "../../engine/upstream/upstream.ts";
import { epochSeconds } from "../../platform/clock.ts";
import { UpstreamMetrics } from "../metrics/upstream-metrics.ts";
import type { ModelSet } from "../models/model-set.ts";
import { upstreamConfigs } from "../models/upstream-models.ts";
import type { Composition } from "./composition.ts";

/**
 * The upstreams of the options. Each is asked once for its models before the server listens; one that does not answer is asked
 * again, and its models are served from then on.
 */
export async function startUpstreams(
  { options, env, clock, random, randomId, log, registry, parts }: Composition,
  models: ModelSet,
): Promise<readonly Upstream[]> {
  const configs = await upstreamConfigs(options.current, env);
  if (configs.length === 0) return [];
  const metrics = new UpstreamMetrics(registry);
  const upstreams = configs.map(
    (config) =>
      new Upstream(config, {
        ...{ clock, random, randomId, log },
        observer: metrics,
        taken: (name) => models.knows(name),
        served: (engine) =>
          models.add({ id: engine.model, engine, created: epochSeconds(clock), upstream: config.name }),
      }),
  );
  metrics.watch(upstreams.map(({ access }) => access));
  return parts.start({
    name: "upstreams",
    start: () => Promise.all(upstreams.map((upstream) => upstream.start())).then(() => upstreams),
    stop: () => Promise.all(upstreams.map((upstream) => upstream.stop())),
  });
}
