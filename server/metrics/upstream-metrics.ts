import { Counter, Gauge, type Registry } from "prom-client";
import { type AnswerClass, CONSEQUENCES } from "../../engine/upstream/answer/answer-class.ts";
import { HEDGE_RESULTS, type HedgeResult } from "../../engine/upstream/replica/hedging.ts";
import type { Replica } from "../../engine/upstream/replica/replica.ts";
import type { Upstream } from "../../engine/upstream/upstream.ts";
import type { Outcome, UpstreamAccess, UpstreamObserver } from "../../engine/upstream/upstream-access.ts";
import type { LedgerSink } from "../../ledger/usage-ledger.ts";
import type { LedgerRow } from "../../store/tables/ledger.ts";

const PREFIX = "nightshift_upstream";
const CLASSES = Object.keys(CONSEQUENCES) as AnswerClass[];

/** Series of upstreams, by their configured names; gauges add up the replicas unless their help says otherwise. */
export class UpstreamMetrics implements UpstreamObserver, LedgerSink {
  readonly #requests: Counter<"upstream" | "status">;
  readonly #retries: Counter<"upstream" | "reason">;
  readonly #hedged: Counter<"upstream" | "status">;
  readonly #estimated: Counter<"upstream">;
  readonly #dropped: Counter<"upstream">;
  readonly #charged: Counter<"upstream">;
  /** Names of upstreams by those of their models. */
  #upstreamOf: (model: string) => string | undefined = () => undefined;
  readonly #registry: Registry;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#registry = registry;
    this.#requests = new Counter({
      name: `${PREFIX}_requests_total`,
      help: "Attempts at replicas that have ended, by outcome: ok, cancelled (the client left, or the other attempt of a hedged request was first), preempted (for an online request), busy, gone, fault, ours (this server is refused), client",
      labelNames: ["upstream", "status"],
      registers,
    });
    this.#retries = new Counter({
      name: `${PREFIX}_retries_total`,
      help: "Further attempts of requests of which the client had seen nothing, by the failure before",
      labelNames: ["upstream", "reason"],
      registers,
    });
    this.#hedged = new Counter({
      name: `${PREFIX}_hedged_total`,
      help: "Hedged requests that have ended, by the attempt that had the first content: first, second, neither",
      labelNames: ["upstream", "status"],
      registers,
    });
    this.#estimated = new Counter({
      name: `${PREFIX}_usage_estimated_total`,
      help: "Answers whose tokens were estimated, because the upstream gave no counts that can be right",
      labelNames: ["upstream"],
      registers,
    });
    this.#dropped = new Counter({
      name: `${PREFIX}_preempted_tokens_total`,
      help: "Output tokens that preempted requests had, which are generated again",
      labelNames: ["upstream"],
      registers,
    });
    this.#charged = new Counter({
      name: `${PREFIX}_charged_tokens_total`,
      help: "Output tokens of its models that the ledger has",
      labelNames: ["upstream"],
      registers,
    });
  }

  ended(upstream: string, status: Outcome): void {
    this.#requests.inc({ upstream, status });
  }

  retried(upstream: string, reason: AnswerClass): void {
    this.#retries.inc({ upstream, reason });
  }

  hedged(upstream: string, status: HedgeResult): void {
    this.#hedged.inc({ upstream, status });
  }

  dropped(upstream: string, tokens: number): void {
    this.#dropped.inc({ upstream }, tokens);
  }

  estimated(upstream: string): void {
    this.#estimated.inc({ upstream });
  }

  charged({ model, outputTokens }: Pick<LedgerRow, "model" | "outputTokens">): void {
    const upstream = this.#upstreamOf(model);
    if (upstream !== undefined) this.#charged.inc({ upstream }, outputTokens);
  }

  /** Adds the series of these, with gauges that are read when the metrics are scraped. */
  watch(all: readonly Upstream[]): void {
    this.#upstreamOf = (name) => {
      return all.find(({ engines }) => engines.some(({ model }) => model === name))?.access.config.name;
    };
    const upstreams = all.map(({ access }) => access);
    for (const { config } of upstreams) this.#begin(config.name);
    const gauge = (name: string, help: string, read: (access: UpstreamAccess) => number | null) =>
      new Gauge({
        name: `${PREFIX}_${name}`,
        help,
        labelNames: ["upstream"],
        registers: [this.#registry],
        collect() {
          this.reset();
          for (const access of upstreams) {
            const value = read(access);
            if (value !== null) this.set({ upstream: access.config.name }, value);
          }
        },
      });
    const sum = (read: (replica: Replica) => number) => (access: UpstreamAccess) =>
      access.replicas.reduce((total, replica) => total + read(replica), 0);
    const known =
      (read: (replica: Replica) => number | null, join: (values: number[]) => number) =>
      ({ replicas }: UpstreamAccess) => {
        const values = replicas.map(read).filter((value) => value !== null);
        return values.length === 0 ? null : join(values);
      };
    const total = (values: number[]) => values.reduce((all, one) => all + one, 0);
    gauge("replicas", "Configured replicas", ({ replicas }) => replicas.length);
    gauge(
      "up",
      "Replicas that list their models",
      sum(({ healthy }) => (healthy ? 1 : 0)),
    );
    gauge(
      "inflight",
      "Requests in flight",
      sum(({ requests }) => requests),
    );
    gauge(
      "limit",
      "Requests of flex and batch that may be in flight",
      sum(({ places }) => places),
    );
    gauge("queued", "Requests of flex and batch that wait for a place under the limit", ({ gate }) => gate.waiting);
    gauge(
      "breaker_open",
      "Replicas whose breaker is not closed",
      sum(({ breaker }) => (breaker.state === "closed" ? 0 : 1)),
    );
    gauge(
      "waiting",
      "Requests in the replicas' own queues, as they report",
      known(({ load }) => load.waiting, total),
    );
    gauge(
      "kv_usage_ratio",
      "Share of the fullest KV cache in use, as the replicas report",
      known(
        ({ load }) => load.kvUsed,
        (values) => Math.max(...values),
      ),
    );
    new Counter({
      name: `${PREFIX}_generated_tokens_total`,
      help: "Tokens that its replicas report to have generated, for anyone; absent where one of them does not report it",
      labelNames: ["upstream"],
      registers: [this.#registry],
      collect() {
        this.reset();
        for (const { config, replicas } of upstreams) {
          const tokens = replicas.map(({ generatedTokens }) => generatedTokens).filter((count) => count !== null);
          if (tokens.length === replicas.length) this.inc({ upstream: config.name }, total(tokens));
        }
      },
    });
    gauge("scrape_age_seconds", "Age of the oldest report of load", (access) =>
      known(
        ({ loadAt }) => (loadAt === null ? null : (access.clock.now() - loadAt) / 1000),
        (ages) => Math.max(...ages),
      )(access),
    );
  }
  /** Counters begin with 0, so that a first increase is seen. */
  #begin(upstream: string): void {
    for (const status of ["ok", "cancelled", "preempted", ...CLASSES]) this.#requests.inc({ upstream, status }, 0);
    for (const reason of CLASSES) this.#retries.inc({ upstream, reason }, 0);
    for (const status of HEDGE_RESULTS) this.#hedged.inc({ upstream, status }, 0);
    this.#estimated.inc({ upstream }, 0);
    this.#dropped.inc({ upstream }, 0);
    this.#charged.inc({ upstream }, 0);
  }
}
