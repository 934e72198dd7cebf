import { request } from "undici";
import { replicaRoot } from "./dialect/replica-root.ts";
import type { UpstreamKind } from "./dialect/upstream-config.ts";
import { METRIC_KINDS, type MetricKind, readLoad } from "./replica/load-metrics.ts";
import { MAX_METRICS_BYTES } from "./replica/prometheus-text.ts";
import type { Replica } from "./replica/replica.ts";
import type { UpstreamAccess } from "./upstream-access.ts";

export const SCRAPE_TIMEOUT_MS = 2000;
/** Milliseconds until a replica without metrics is asked for them again. */
const ABSENT_MS = 60_000;

/** Reads the metrics of one replica, and reports its load to the limit of flex and batch. */
export class LoadScrape {
  readonly #replica: Replica;
  readonly #access: UpstreamAccess;
  #busy = false;
  #absentUntil = Number.NEGATIVE_INFINITY;

  constructor(replica: Replica, access: UpstreamAccess) {
    this.#replica = replica;
    this.#access = access;
  }

  /** @param models their ids at the upstream. Never rejects. */
  async look(models: readonly string[], signal: AbortSignal): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    const reported = await this.#read(models, signal);
    this.#busy = false;
    const { load, limit, online, ttft } = this.#replica;
    const { sloTtftMs } = this.#access.config;
    const objectiveMs = sloTtftMs === "auto" ? this.#replica.objectiveMs : sloTtftMs;
    // A report that did not come has it go stale.
    limit.report({ waiting: reported ? load.waiting : null, online, onlineTtftMs: ttft.quantile(0.95), objectiveMs });
    if (reported) this.#access.gate.reported(this.#replica);
  }

  /** True where the replica told its load. */
  async #read(models: readonly string[], signal: AbortSignal): Promise<boolean> {
    const { clock, dispatcher, headers, kind } = this.#access;
    const metrics = metricsOf(kind);
    if (metrics === null || !this.#replica.healthy || clock.now() < this.#absentUntil) return false;
    try {
      const answer = await request(`${replicaRoot(this.#replica.url)}/metrics`, {
        dispatcher,
        headers: { ...headers },
        signal: AbortSignal.any([signal, AbortSignal.timeout(SCRAPE_TIMEOUT_MS)]),
      });
      if (answer.statusCode !== 200) {
        // A body that is destroyed unread is an uncaught error.
        await answer.body.dump();
        this.#absentUntil = clock.now() + ABSENT_MS;
        return false;
      }
      let text = "";
      const decoder = new TextDecoder();
      for await (const chunk of answer.body) {
        text += decoder.decode(chunk, { stream: true });
        if (text.length > MAX_METRICS_BYTES) break;
      }
      this.#replica.reported(readLoad(metrics, text, models), clock.now());
      return true;
    } catch {
      // Its list of models says whether it is there; the limit stops growing meanwhile.
      return false;
    }
  }
}

/** The engine whose metrics a replica of the kind has; null where they are not known. */
export function metricsOf(kind: UpstreamKind): MetricKind | null {
  if (kind === "ray" || kind === "kserve") return "vllm";
  return METRIC_KINDS.find((known) => known === kind) ?? null;
}
