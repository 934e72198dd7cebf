import { basename, resolve } from "node:path";
import { filePrefix } from "./source/download-record.ts";
import type { StoredModel } from "./source/models-folder.ts";

interface ModelFiles {
  /** The source of a download; null for a file on this machine. */
  uri: string | null;
  /** Absolute. */
  paths: string[];
}

/** The files of the served models, loaded or not. */
export class ServedFiles {
  readonly #byModel = new Map<string, ModelFiles>();

  add(model: string, { uri, paths }: { uri: string | null; paths: readonly string[] }): void {
    this.#byModel.set(model, { uri, paths: paths.map((path) => resolve(path)) });
  }

  remove(model: string): void {
    this.#byModel.delete(model);
  }

  /** True if a served model has this file, or downloads it. */
  has(path: string): boolean {
    const file = basename(path);
    return [...this.#byModel.values()].some(
      ({ uri, paths }) => paths.includes(resolve(path)) || (uri !== null && file.startsWith(filePrefix(uri))),
    );
  }

  /** The served models that a model of the folder belongs to, an unfinished download included. */
  usersOf({ uri, entry, files }: StoredModel, folder: string): string[] {
    const own = files.map((file) => resolve(folder, file));
    return [...this.#byModel].flatMap(([model, served]) => {
      const downloads = served.uri !== null && (served.uri === uri || entry.startsWith(filePrefix(served.uri)));
      return downloads || served.paths.some((path) => own.includes(path)) ? [model] : [];
    });
  }

  /** The served model with this source; null for none. */
  modelOf(uri: string): string | null {
    for (const [model, served] of this.#byModel) if (served.uri === uri) return model;
    return null;
  }
}
