import { classify } from "./answer/answer-class.ts";
import { AttemptFailure } from "./attempt.ts";
import type { UpstreamConfig } from "./dialect/upstream-config.ts";
import { type ListedModel, listModels, slotContext } from "./discovery.ts";
import { LoadScrape } from "./load-scrape.ts";
import type { Replica } from "./replica/replica.ts";
import { UpstreamAccess, type UpstreamDeps } from "./upstream-access.ts";
import { UpstreamEngine } from "./upstream-engine.ts";

/** Milliseconds between two lists of models of a replica that answers, and of one that does not. */
const LIST_MS = 30_000;
const RETRY_MS = 5000;
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
  /** By the model's id at the upstream. */
  readonly #engines = new Map<string, UpstreamEngine>();
  /** The models of each healthy replica. */
  readonly #listed = new Map<Replica, readonly ListedModel[]>();
  readonly #abort = new AbortController();
  readonly #timers = new Map<Replica, NodeJS.Timeout>();
  readonly #scrapes: readonly LoadScrape[];
  #scraping: NodeJS.Timeout | undefined;

  constructor(config: UpstreamConfig, parts: UpstreamParts) {
    this.#parts = parts;
    this.access = new UpstreamAccess(config, parts);
    this.access.modelMissing = () => this.#lookAgain();
    this.#scrapes = this.access.replicas.map((replica) => new LoadScrape(replica, this.access));
    for (const [name, id] of Object.entries(config.models ?? {})) this.#serve(name, id);
  }

  get engines(): readonly UpstreamEngine[] {
    return [...this.#engines.values()];
  }

  /** Resolves when each replica was asked once for its models. */
  async start(): Promise<void> {
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

  /** A request said that a model is missing: the lists tell which are left. */
  #lookAgain(): void {
    for (const replica of this.access.replicas) void this.#look(replica);
  }

  async #look(replica: Replica): Promise<void> {
    clearTimeout(this.#timers.get(replica));
    const { signal } = this.#abort;
    try {
      const models = await this.#models(replica);
      if (signal.aborted) return;
      if (models[0] !== undefined) this.access.found(models[0].kind);
      this.#listed.set(replica, models);
      replica.healthy = true;
      replica.lastError = null;
    } catch (error) {
      if (signal.aborted) return;
      this.#listed.delete(replica);
      this.#lost(replica, error);
    }
    this.#update();
    const timer = setTimeout(() => void this.#look(replica), replica.healthy ? LIST_MS : RETRY_MS);
    timer.unref();
    this.#timers.set(replica, timer);
  }

  async #models({ url }: Replica): Promise<ListedModel[]> {
    const { headers } = this.access;
    const models = await listModels(url, headers, this.access, this.#abort.signal);
    const unknown = models.some(({ kind, context }) => kind === "llama-server" && context === null);
    const slots = unknown ? await slotContext(url, headers, this.access, this.#abort.signal) : null;
    return models.map((model) => ({ ...model, context: model.context ?? slots }));
  }

  #lost(replica: Replica, error: unknown): void {
    if (!(error instanceof AttemptFailure)) throw error;
    const { failure } = error;
    const context = { content: false, healthy: false, priority: false };
    const { class: name, error: said } = classify(failure, context, this.access.clock.epochMs());
    const reason = said?.message || (failure.kind === "network" ? failure.code : "") || name;
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
    for (const [id, context] of contexts) {
      if (this.access.config.models === null && !this.#engines.has(id)) this.#serve(this.#freeName(id), id);
      this.#engines.get(id)?.present(context);
    }
    const reason =
      this.#listed.size === 0
        ? `The upstream '${this.access.config.name}' does not answer: ${this.access.replicas[0]?.lastError}`
        : `The upstream '${this.access.config.name}' does not serve this model now.`;
    for (const [id, engine] of this.#engines) {
      if (!contexts.has(id)) engine.absent(reason, this.#listed.size === 0 ? RETRY_MS : LIST_MS);
    }
    this.access.gate.pump();
  }

  #freeName(id: string): string {
    return this.#parts.taken(id) ? `${this.access.config.name}/${id}` : id;
  }

  #serve(name: string, id: string): void {
    const engine = new UpstreamEngine(name, id, this.access);
    this.#engines.set(id, engine);
    this.#parts.served(engine);
  }

  #scrape(): void {
    const names = [...this.#engines.keys()];
    for (const scrape of this.#scrapes) void scrape.look(names, this.#abort.signal);
    this.access.gate.pump();
  }
}
