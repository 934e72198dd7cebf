import { overQuota } from "../../files/disk-space.ts";
import type { FileStore } from "../../files/file-store.ts";
import { type Caller, storedKeyId } from "../../ledger/key.ts";
import { ApiError } from "../../openapi/api-error.ts";
import { ownerErased } from "../../openapi/owner-erased.ts";
import type { Store } from "../../store/store.ts";
import type { AnswerWrite } from "../../store/types/answer-rows.ts";
import { MIN_ANSWER_BYTES, type Refusal } from "../../store/types/storage.ts";
import { fromStore } from "../http/store-error-response.ts";

export interface AnswerBoundsDeps {
  store: { files: Pick<Store["files"], "storage"> };
  files: Pick<FileStore, "quota">;
  /** Most stored responses, chat completions and conversations of one owner. */
  maxStored: number;
}

/** The bounds on what an owner may store: the server's own, and with an API key also the key's. */
export class AnswerBounds {
  readonly #deps: AnswerBoundsDeps;
  /** Reserved places by owner. */
  readonly #reserved = new Map<string, number>();

  constructor(deps: AnswerBoundsDeps) {
    this.#deps = deps;
  }

  write({ owner, key }: Caller): AnswerWrite {
    const quotaBytes = this.#deps.files.quota(key?.limits.storageBytes ?? null);
    return { owner, keyId: storedKeyId(key), bounds: { quotaBytes, maxAnswers: this.#deps.maxStored } };
  }

  /**
   * Reserves the place of an answer that is being generated, until the returned function is called. Throws the 507 of an
   * owner who has none left, and the error of a failing store. The write itself checks once more: it knows the bytes.
   */
  async reserve(caller: Caller): Promise<() => void> {
    const { owner } = caller;
    const reserved = this.#add(owner, 1);
    try {
      const write = this.write(caller);
      const { quotaBytes, maxAnswers } = write.bounds;
      // An answer that is stored during the read may be in both counts, and none is in neither.
      const stored = await fromStore(this.#deps.store.files.storage(owner));
      if (stored.answers + reserved > maxAnswers) throw this.refused("too_many", write);
      const least = stored.bytes + reserved * MIN_ANSWER_BYTES;
      if (quotaBytes !== null && least > quotaBytes) throw this.refused("over_quota", write);
    } catch (error) {
      this.#add(owner, -1);
      throw error;
    }
    return () => void this.#add(owner, -1);
  }

  /** The owner's reserved places after the change. */
  #add(owner: string, change: 1 | -1): number {
    const places = (this.#reserved.get(owner) ?? 0) + change;
    if (places === 0) this.#reserved.delete(owner);
    else this.#reserved.set(owner, places);
    return places;
  }

  /** The error of a write that was refused. */
  refused(outcome: Refusal | "erased", { bounds: { quotaBytes, maxAnswers } }: AnswerWrite): ApiError {
    if (outcome === "erased") return ownerErased();
    if (outcome === "over_quota") return overQuota(quotaBytes ?? 0);
    const message = `You have reached your limit of ${maxAnswers} stored answers. Delete some, or let them expire.`;
    return new ApiError("storage_quota_exceeded", message);
  }
}
