import { OptionsError } from "../../platform/options-error.ts";
import type { Store } from "../../store/store.ts";
import { StoreError } from "../../store/types/store-error.ts";
import { Seal } from "../dialects/responses/sealed-text.ts";
import { watchStore } from "../metrics/store-metrics.ts";
import type { Composition } from "./composition.ts";
import { withDiskAdvice } from "./disk-error.ts";
import { type FileParts, openFileParts } from "./file-parts.ts";
import { serverSecret } from "./server-secret.ts";
import { type StoredAnswers, storedAnswers } from "./stored-answers.ts";

export interface StorageParts extends FileParts {
  store: Store;
  stored: StoredAnswers;
  /** Of texts that clients carry. */
  seal: Seal;
}

/** The database, and the files beside it. The sweeper is not started: nothing expires before the models are known. */
export async function startStorage({
  options,
  clock,
  log,
  openStore,
  parts,
  registry,
}: Composition): Promise<StorageParts> {
  const { current } = options;
  const { dataDir } = current;
  const store = await parts.start({
    name: "store",
    start: () => withStoreAdvice(() => openStore({ dataDir, log })),
    stop: (opened) => opened.close(),
  });
  watchStore(registry, store);
  const storage = await parts.start({
    name: "files",
    start: () => withDiskAdvice(dataDir, () => openFileParts(current, store, clock, log)),
  });
  const seal = new Seal(await withDiskAdvice(dataDir, () => serverSecret(dataDir)));
  return { store, seal, ...storage, stored: storedAnswers(current, store, storage) };
}

/** Rejects with OptionsError and the store's own advice: a server without its database must not start. */
async function withStoreAdvice(open: () => Promise<Store>): Promise<Store> {
  try {
    return await open();
  } catch (error) {
    throw error instanceof StoreError ? new OptionsError(error.message) : error;
  }
}
