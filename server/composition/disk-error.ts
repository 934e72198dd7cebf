import { codeOf } from "../../backup/durable-copy.ts";
import { OptionsError } from "../../platform/options-error.ts";
import { StoreError } from "../../store/types/store-error.ts";

/** Rejects with OptionsError where the disk refuses what a start has to write, such as the first API key on a full one. */
export async function withDiskAdvice<T>(dataDir: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof StoreError) && codeOf(error) === "") throw error;
    throw new OptionsError(`${dataDir} cannot be used: ${(error as Error).message}`);
  }
}
