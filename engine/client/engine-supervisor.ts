import type { ApiError } from "../../openapi/api-error.ts";
import type { EngineState } from "../engine.ts";
import type { EngineConfig } from "../protocol/config.ts";
import type { FromEngine, ToEngine } from "../protocol/messages.ts";
import { engineDied, refusalOf } from "../state-error.ts";
import { EngineProcess } from "./engine-process.ts";
import { advance, type Lifecycle, type LifecycleEvent, newLifecycle, retryAfter } from "./lifecycle.ts";
import type { LocalEngineDeps } from "./local-engine-deps.ts";
import { logState } from "./state-log.ts";
import { Watchdog } from "./watchdog.ts";

/** Events of an engine's process that its requests depend on. */
export interface SupervisorEvents {
  message(message: FromEngine): void;
  /** The process is gone, and with it everything that it held. `error` is for those that wait for an answer of it. */
  ended(error: ApiError): void;
  /** Another process will follow: requests may wait for it, or fail with the error. */
  interrupted(error: ApiError): void;
  /** A process is ready. */
  ready(): void;
  /** No process will follow by itself: `refusal` is for requests, `reason` for callers of ready(). */
  failed(refusal: ApiError | null, reason: Error): void;
  /** Requests that were submitted and have not ended. */
  pending(): number;
  /** True while a message of the process for requests is due. */
  messageDue(): boolean;
}

/** Keeps one engine process running through the lifecycle of lifecycle.ts, and kills one that hangs. */
export class EngineSupervisor {
  readonly #config: EngineConfig;
  readonly #deps: Required<LocalEngineDeps>;
  readonly #events: SupervisorEvents;
  readonly #watchdog: Watchdog;
  readonly #watch: NodeJS.Timeout;
  #life: Lifecycle;
  #process: EngineProcess | null = null;
  #retry: NodeJS.Timeout | undefined;
  /** Callers of unload(), until the process is gone. */
  #unloads: (() => void)[] = [];
  /** The event that follows when the process of a failed load is gone. */
  #whenGone: LifecycleEvent | null = null;
  #closing: Promise<void> | null = null;

  constructor(config: EngineConfig, deps: Required<LocalEngineDeps>, events: SupervisorEvents) {
    this.#config = config;
    this.#deps = deps;
    this.#events = events;
    const intervalMs = deps.hangTimeoutMs / 8;
    this.#watchdog = new Watchdog(intervalMs);
    this.#watch = setInterval(() => this.#checkAlive(), intervalMs);
    this.#watch.unref();
    this.#life = newLifecycle(deps.now(), deps.first);
    if (deps.first === "loading") this.#start();
  }

  get state(): EngineState {
    return this.#life.state;
  }

  get retryAfterSeconds(): number {
    return retryAfter(this.#life, this.#deps.now());
  }

  /** Reason that no process will become ready by itself; null while one may. */
  get whyOver(): Error | null {
    const { state } = this;
    if (state.name === "failed") return new Error(state.reason);
    if (state.name === "closed") return new Error(`The engine of '${this.#config.model}' was closed.`);
    return null;
  }

  send(message: ToEngine): void {
    this.#process?.send(message);
  }

  /** The process shows progress, or gets work after it had none: the watchdog counts from here. */
  alive(): void {
    this.#watchdog.alive();
  }

  /** A request ran to its end. */
  finished(): void {
    this.#on({ type: "finished" });
  }

  progress(progress: number): void {
    this.#on({ type: "progress", progress });
  }

  ready(): void {
    this.#on({ type: "ready" });
  }

  /** The process reports that the model cannot be loaded. */
  unloadable(reason: string): void {
    this.#on({ type: "unloadable", reason });
    // The exit of the process follows, and is the death that counts where the model was loaded before.
    this.#process?.kill(reason);
  }

  load(): void {
    if (this.state.name === "failed") this.#again({ type: "load" });
    else this.#on({ type: "load" });
  }

  /** Resolves when the process is gone. The caller has checked that no request is in flight. */
  unload(): Promise<void> {
    this.#on({ type: "unload" });
    return this.unloaded();
  }

  /** Resolves when an unload that is under way is over. */
  unloaded(): Promise<void> {
    if (this.state.name !== "unloading") return Promise.resolve();
    return new Promise((resolve) => this.#unloads.push(resolve));
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#on({ type: "close" });
    clearInterval(this.#watch);
    clearTimeout(this.#retry);
    await this.#process?.stop(this.#deps.closeGraceMs);
  }

  /** A new process starts when the old one is gone, and with it the memory that it held. */
  #again(event: LifecycleEvent): void {
    clearTimeout(this.#retry);
    if (this.#process === null) this.#on(event);
    else this.#whenGone = event;
  }

  #start(): void {
    const { entry, log, observer } = this.#deps;
    const { model } = this.#config;
    const died = (reason: string) => this.#died(reason);
    this.#watchdog.alive();
    try {
      this.#process = new EngineProcess(entry, { type: "start", config: this.#config }, log, {
        message: (message) => this.#events.message(message),
        died,
      });
      const { pid } = this.#process;
      log.info({ model, pid }, "Engine process started");
      observer.started(model, pid ?? null);
    } catch (error) {
      // fork() throws where there is no memory for another process.
      const why = error instanceof Error ? error.message : String(error);
      queueMicrotask(() => died(`The engine process could not be started: ${why}`));
    }
  }

  #died(reason: string): void {
    const { model } = this.#config;
    this.#process = null;
    this.#deps.observer.ended(model);
    this.#events.ended(engineDied(model, this.retryAfterSeconds));
    this.#on({ type: "died", reason });
    const next = this.#whenGone;
    this.#whenGone = null;
    if (next !== null) this.#on(next);
  }

  /** The one place where the state changes. */
  #on(event: LifecycleEvent): void {
    const { log, observer, now, restart, closeGraceMs } = this.#deps;
    const { model } = this.#config;
    const before = this.#life.state;
    const { life, effect } = advance(this.#life, event, now(), restart);
    this.#life = life;
    if (before !== life.state) logState(log, model, life, this.#events.pending());
    switch (effect) {
      case "start":
      case "load":
        if (effect === "start") observer.restarted(model);
        this.#start();
        return;
      case "stop":
        void this.#process?.stop(closeGraceMs);
        return;
      case "gone":
        this.#endUnloads();
        return;
      case "wait":
        this.#events.interrupted(engineDied(model, this.retryAfterSeconds));
        this.#waitForRetry();
        return;
      case "resume":
        this.#events.ready();
        return;
      case "fail": {
        this.#endUnloads();
        const over = this.whyOver;
        if (over !== null) this.#events.failed(refusalOf(model, life.state, this.retryAfterSeconds), over);
        this.#waitForRetry();
        return;
      }
      case null:
        return;
      default:
        effect satisfies never;
    }
  }

  #endUnloads(): void {
    for (const resolve of this.#unloads.splice(0)) resolve();
  }

  #waitForRetry(): void {
    const { state } = this;
    if (state.name === "restarting") this.#retry = setTimeout(() => this.#on({ type: "retry" }), state.retryInMs);
    if (state.name !== "failed" || state.retryInMs === undefined) return;
    this.#retry = setTimeout(() => this.#again({ type: "retry" }), state.retryInMs);
  }

  #checkAlive(): void {
    const serving = this.state.name === "ready";
    let limitMs: number | null = null;
    if (serving && this.#events.messageDue()) limitMs = this.#deps.hangTimeoutMs;
    else if (!serving && this.#process !== null) limitMs = this.#deps.loadTimeoutMs;
    if (!this.#watchdog.tick(limitMs) || limitMs === null) return;
    const doing = serving ? "had requests" : "loaded the model";
    this.#process?.kill(
      `The engine process sent no message for ${Math.round(limitMs / 1000)} seconds while it ${doing}; it was killed.`,
    );
  }
}
