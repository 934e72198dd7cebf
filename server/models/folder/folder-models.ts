import type { Engine } from "../../../engine/engine.ts";
import type { Log } from "../../../platform/log.ts";
import type { ModelSet, ServedModel } from "../model-set.ts";
import type { ServedFiles } from "../served-files.ts";
import type { ResolvedModel } from "../source/resolve.ts";
import { type FolderFile, scanFolder } from "./folder-scan.ts";

export interface FolderModelsDeps {
  folder: string;
  models: ModelSet;
  files: ServedFiles;
  /** Measures a model and plans its memory; rejects with the reason why it can't be served. */
  plan: (model: ResolvedModel) => Promise<void>;
  /** Starts its engine, unloaded. */
  start: (model: ResolvedModel) => Engine;
  /** Unix seconds. */
  created: () => number;
  /** Milliseconds of a clock that never goes back. */
  now: () => number;
  log: Log;
}

/** Milliseconds between two scans that requests for unknown names cause. */
const SCAN_PAUSE_MS = 5000;

/**
 * The models of the folder, served on demand under their file names. A scan lists the files. Each new one is measured by a
 * process of its own, one at a time, and served from then on; a request for one has it measured next. A file that is gone is no
 * longer served, and served again when it comes back.
 */
export class FolderModels {
  readonly #deps: FolderModelsDeps;
  /** Files of the last scan, by the names of their models. */
  #found = new Map<string, FolderFile>();
  /** All that were ever served, by path. */
  readonly #served = new Map<string, ServedModel>();
  /** Planned files by path and stamp. */
  readonly #plans = new Map<string, Promise<void>>();
  #lastPlan: Promise<void> = Promise.resolve();
  /** Reasons that are in the log, by path. */
  readonly #logged = new Map<string, string>();
  #scan: Promise<void> | null = null;
  #scannedAt = Number.NEGATIVE_INFINITY;
  #stopped = false;

  constructor(deps: FolderModelsDeps) {
    this.#deps = deps;
  }

  /** Names of the models in the folder, those that are not measured yet included. */
  get names(): string[] {
    return [...this.#found.keys()];
  }

  /** Resolves when the files are listed; new ones are measured after it. */
  scan(): Promise<void> {
    this.#scan ??= this.#list().finally(() => {
      this.#scan = null;
      void this.#planAll();
    });
    return this.#scan;
  }

  /** Scans anew, and measures also those files again that could not be served. */
  retry(): Promise<void> {
    this.#plans.clear();
    this.#logged.clear();
    return this.scan();
  }

  /** Looks for a name that no served model has. Scans the folder at most every few seconds. */
  async find(name: string): Promise<void> {
    const { now } = this.#deps;
    if (!this.#found.has(name) && (this.#scan !== null || now() - this.#scannedAt >= SCAN_PAUSE_MS)) await this.scan();
    const file = this.#found.get(name);
    if (file !== undefined) await this.#plan(name, file);
  }

  /** Stops serving a model that is not in memory, so that its files can be removed. @returns false for any other model */
  release(id: string): boolean {
    const model = [...this.#served.values()].find((one) => one.id === id);
    const { name: state } = model?.engine.state ?? { name: "closed" };
    if (model === undefined || (state !== "unloaded" && state !== "failed") || model.engine.pending > 0) return false;
    this.#found.delete(id);
    this.#hide(id);
    return true;
  }

  /** No file is measured any more. */
  stop(): void {
    this.#stopped = true;
  }

  async #list(): Promise<void> {
    const { folder, models, now, log } = this.#deps;
    this.#scannedAt = now();
    const { files, skipped } = await scanFolder(folder);
    for (const { path, reason } of skipped) this.#logSkipped(path, reason);
    this.#found = this.#named(files);
    for (const [path, { id }] of this.#served) {
      if (this.#found.get(id)?.path === path || !models.list().some((model) => model.id === id)) continue;
      this.#hide(id);
      log.info({ model: id, file: path }, "The file of a model is gone; the model is no longer served");
    }
    for (const { path } of this.#found.values()) {
      const again = this.#served.get(path);
      if (again !== undefined) this.#show(again, path);
    }
  }

  /** By name; a file whose name is taken has its long name. */
  #named(files: readonly FolderFile[]): Map<string, FolderFile> {
    const { models, files: served } = this.#deps;
    const own = new Set([...this.#served.values()].map(({ id }) => id));
    const others = models.list().flatMap(({ id }) => (own.has(id) ? [] : [id]));
    const taken = new Set([...own, ...others, ...Object.keys(models.names.aliases)]);
    const named = new Map<string, FolderFile>();
    for (const file of files) {
      const before = this.#served.get(file.path);
      if (before !== undefined) named.set(before.id, file);
      // The options name a model of this file.
      else if (served.has(file.path)) continue;
      else {
        const name = [file.name, file.longName].find((one) => !taken.has(one) && !named.has(one));
        if (name !== undefined) named.set(name, file);
        else this.#logSkipped(file.path, `another model, or an alias, has the name '${file.name}'`);
      }
    }
    return named;
  }

  /** One after the other, so that a request's file is measured between two of them. */
  async #planAll(): Promise<void> {
    for (const [name, file] of this.#found) {
      if (this.#stopped) return;
      await this.#plan(name, file);
    }
  }

  #plan(name: string, file: FolderFile): Promise<void> {
    const key = `${file.path}\n${file.stamp}`;
    let plan = this.#plans.get(key);
    if (plan === undefined) {
      plan = this.#lastPlan.then(() => this.#serve(name, file));
      this.#lastPlan = plan;
      this.#plans.set(key, plan);
    }
    return plan;
  }

  async #serve(name: string, { path }: FolderFile): Promise<void> {
    const { plan, start, created, log } = this.#deps;
    if (this.#stopped || this.#served.has(path)) return;
    const model = { name, path, adapters: [] };
    try {
      await plan(model);
    } catch (error) {
      return this.#logSkipped(path, error instanceof Error ? error.message : String(error));
    }
    if (this.#stopped) return;
    const served = { id: name, engine: start(model), created: created() };
    this.#served.set(path, served);
    if (this.#found.get(name)?.path === path) this.#show(served, path);
    log.info({ model: name, file: path }, "A model of the folder is served on demand");
  }

  #show(model: ServedModel, path: string): void {
    this.#deps.files.add(model.id, { uri: null, paths: [path] });
    this.#deps.models.add(model);
  }

  #hide(id: string): void {
    this.#deps.models.remove(id);
    this.#deps.files.remove(id);
  }

  #logSkipped(path: string, reason: string): void {
    if (this.#logged.get(path) === reason) return;
    this.#logged.set(path, reason);
    this.#deps.log.warn({ file: path, reason }, "A file in the folder of models is not served");
  }
}
