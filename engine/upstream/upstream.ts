import { AttemptFailure } from "./attempt.ts";
import type { UpstreamConfig } from "./dialect/upstream-config.ts";
import { type ListedModel, replicaModels } from "./discovery.ts";
import { LoadScrape } from "./load-scrape.ts";
import type { Replica } from "./replica/replica.ts";
import { UpstreamAccess, type UpstreamDeps } from "./upstream-access.ts";
import { UpstreamEngine } from "./upstream-engine.ts";

/** Milliseconds between two lists of models of a replica that has all of them, and of one that lacks some or does not answer. */
const LIST_MS = 30_000;
const RETRY_MS = 5000;
/** Milliseconds before which a failed request has the lists read no second time. */
const AGAIN_MS = 1000;
/** Milliseconds between two reports of load. */
const SCRAPE_MS = 1000;

export interface UpstreamParts extends UpstreamDeps {
  /** True for a name that another model has. */
  taken: (name: string) => boolean;
  /** A model is served for the first time. */
  served: (engine: UpstreamEngine) => void;
}

/** One upstream: finds its models, watches its replicas, and has an engine for each model. */
export class Upstream {
  readonly access: UpstreamAccess;
  readonly #parts: UpstreamParts;
  /** By the model's name at this server. */
  readonly #engines = new Map<string, UpstreamEngine>();
  /** Ids of listed models that have no free name. */
  readonly #nameless = new Set<string>();
  /** The models of each healthy replica. */
  readonly #listed = new Map<Replica, readonly ListedModel[]>();
  readonly #abort = new AbortController();
  readonly #timers = new Map<Replica, NodeJS.Timeout>();
  /** Looks that have not ended. */
  readonly #looks = new Map<Replica, Promise<void>>();
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** Models get their names after it. */
  #turn: Promise<unknown> = Promise.resolve();
  readonly #scrapes: readonly LoadScrape[];
  #scraping: NodeJS.Timeout | undefined;

  constructor(config: UpstreamConfig, parts: UpstreamParts) {
    this.#parts = parts;
    this.access = new UpstreamAccess(config, parts);
    this.access.lookAgain = () => this.#lookAgain();
    this.#scrapes = this.access.replicas.map((replica) => new LoadScrape(replica, this.access));
    for (const [name, id] of Object.entries(config.models ?? {})) this.#serve(name, id);
  }

  get engines(): readonly UpstreamEngine[] {
    return [...this.#engines.values()];
  }

  /**
   * Resolves when each replica was asked once for its models.
   * @param before the start of an upstream whose models get their names first
   */
  async start(before: Promise<unknown> = Promise.resolve()): Promise<void> {
    this.#turn = before;
    await Promise.all(this.access.replicas.map((replica) => this.#look(replica)));
    this.#scraping = setInterval(() => this.#scrape(), SCRAPE_MS);
    this.#scraping.unref();
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    clearInterval(this.#scraping);
    for (const timer of this.#timers.values()) clearTimeout(timer);
    await Promise.all(this.engines.map((engine) => engine.close()));
    await this.access.close();
  }

  /** A request failed: the lists tell which replicas and models are left. */
  #lookAgain(): void {
    const now = this.access.clock.now();
    if (now - this.#lookedAt < AGAIN_MS) return;
    this.#lookedAt = now;
    for (const replica of this.access.replicas) void this.#look(replica);
  }

  /** Reads the list of a replica; a look that goes on is joined. */
  #look(replica: Replica): Promise<void> {
    const look = this.#looks.get(replica) ?? this.#lookOnce(replica).finally(() => this.#looks.delete(replica));
    this.#looks.set(replica, look);
    return look;
  }

  async #lookOnce(replica: Replica): Promise<void> {
    clearTimeout(this.#timers.get(replica));
    const { signal } = this.#abort;
    try {
      const models = await replicaModels(replica.url, this.access.headers, this.access, signal);
      if (signal.aborted) return;
      if (models[0] !== undefined) this.access.found(models[0].kind);
      this.#listed.set(replica, models);
      // Slots of several models are not known to be one another's.
      replica.slots = models.length === 1 ? models[0]!.slots : null;
      replica.healthy = true;
      replica.lastError = null;
    } catch (error) {
      if (signal.aborted) return;
      this.#listed.delete(replica);
      this.#lost(replica, error);
    }
    await this.#turn;
    if (signal.aborted) return;
    this.#update();
    const timer = setTimeout(() => void this.#look(replica), this.#isWhole(replica) ? LIST_MS : RETRY_MS);
    timer.unref();
    this.#timers.set(replica, timer);
  }

  #isWhole(replica: Replica): boolean {
    const ids = new Set(this.#listed.get(replica)?.map(({ id }) => id));
    return replica.healthy && this.engines.every(({ upstreamModel }) => ids.has(upstreamModel));
  }

  #lost(replica: Replica, error: unknown): void {
    if (!(error instanceof AttemptFailure)) throw error;
    const { failure } = error;
    const context = { content: false, healthy: false, priority: false };
    const { class: name, error: said } = this.access.classify(failure, context);
    const reason = said?.message || name;
    if (replica.healthy || replica.lastError === null) {
      const fields = { upstream: this.access.config.name, replica: replica.url, reason };
      this.#parts.log.warn(fields, "A replica of an upstream does not list its models; it is asked again every 5 s");
    }
    replica.healthy = false;
    replica.lastError = reason;
  }

  /** Serves the models that the replicas have now. */
  #update(): void {
    const contexts = new Map<string, number | null>();
    for (const models of this.#listed.values()) {
      for (const { id, context } of models) {
        const known = contexts.get(id) ?? null;
        contexts.set(id, known === null || context === null ? (known ?? context) : Math.min(known, context));
      }
    }
    if (this.access.config.models === null) this.#serveNew([...contexts.keys()]);
    const silent = this.#listed.size === 0;
    // Clients may read it: the words of the upstream are for the log.
    const reason = `The upstream '${this.access.config.name}' does not ${silent ? "answer" : "serve this model now"}.`;
    for (const engine of this.engines) {
      const context = contexts.get(engine.upstreamModel);
      if (context === undefined) engine.absent(reason, RETRY_MS);
      else engine.present(context);
    }
    this.access.gate.pump();
  }

  #serveNew(ids: readonly string[]): void {
    const served = new Set(this.engines.map(({ upstreamModel }) => upstreamModel));
    const { name: upstream } = this.access.config;
    for (const id of ids.filter((one) => !served.has(one) && !this.#nameless.has(one))) {
      const name = [id, `${upstream}/${id}`].find((one) => !this.#parts.taken(one));
      if (name !== undefined) this.#serve(name, id);
      else {
        this.#nameless.add(id);
        this.#parts.log.warn(
          { upstream, model: id },
          "A model of an upstream is not served: other models have its names",
        );
      }
    }
  }

  #serve(name: string, id: string): void {
    const engine = new UpstreamEngine(name, id, this.access);
    this.#engines.set(name, engine);
    this.#parts.served(engine);
  }

  #scrape(): void {
    const ids = [...new Set(this.engines.map(({ upstreamModel }) => upstreamModel))];
    for (const scrape of this.#scrapes) void scrape.look(ids, this.#abort.signal);
    this.access.gate.pump();
  }
}
