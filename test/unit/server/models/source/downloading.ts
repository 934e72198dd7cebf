import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type ResolvedModel, type ResolveOptions, resolveModels } from "../../../../../server/models/source/resolve.ts";
import { TRANSFER_RULES } from "../../../../../server/models/source/transfer.ts";
import { until } from "../../../../api/until.ts";
import type { FakeHub } from "./fake-hub.ts";

export const MB = 1024 * 1024;

export function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "nightshift-models-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface Download {
  models: Promise<ResolvedModel[]>;
  progress: [done: number, total: number][];
  ended: () => number;
  /** Logged warnings. */
  warnings: [fields: object, message: string][];
}

/** In pieces of 2 MB, with three tries for each and pauses of a millisecond. */
export function download(hub: FakeHub, value: string, folder: string, more: Partial<ResolveOptions> = {}): Download {
  const progress: [number, number][] = [];
  const warnings: [object, string][] = [];
  let ends = 0;
  const models = resolveModels([value], {
    folder,
    offline: false,
    log: { info: () => {}, warn: (fields, message) => warnings.push([fields, message]) },
    onDownload: () => ({ update: (done, total) => progress.push([done, total]), end: () => ends++ }),
    rules: { ...TRANSFER_RULES, pieceBytes: 2 * MB, tries: 3, firstPauseMs: 1 },
    ...more,
    env: { HF_ENDPOINT: hub.endpoint, ...more.env },
  });
  return { models, progress, ended: () => ends, warnings };
}

/** Resolves when at least one piece of a download is on the disk. */
export async function pieceSaved(folder: string): Promise<void> {
  await until("a piece on the disk", () => {
    const state = leftovers(folder).find((name) => name.endsWith(".part.json"));
    return state !== undefined && JSON.parse(readFileSync(join(folder, state), "utf8")).done.length > 0;
  });
}

/** Files of a download beside finished models. */
export function leftovers(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}
