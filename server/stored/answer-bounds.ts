import { overQuota } from "../../files/disk-space.ts";
import type { FileStore } from "../../files/file-store.ts";
import { type Caller, storedKeyId } from "../../ledger/key.ts";
import { ApiError } from "../../openapi/api-error.ts";
import { ownerErased } from "../../openapi/owner-erased.ts";
import type { AnswerWrite } from "../../store/types/answer-rows.ts";
import type { Refusal } from "../../store/types/storage.ts";

export interface AnswerBoundsDeps {
  files: Pick<FileStore, "quota">;
  /** Most stored responses, chat completions and conversations of one owner. */
  maxStored: number;
}

/** The bounds on what an owner may store: the server's own, and with an API key also the key's. */
export class AnswerBounds {
  readonly #deps: AnswerBoundsDeps;

  constructor(deps: AnswerBoundsDeps) {
    this.#deps = deps;
  }

  write({ owner, key }: Caller): AnswerWrite {
    const quotaBytes = this.#deps.files.quota(key?.limits.storageBytes ?? null);
    return { owner, keyId: storedKeyId(key), bounds: { quotaBytes, maxAnswers: this.#deps.maxStored } };
  }

  /** The error of a write that was refused. */
  refused(outcome: Refusal | "erased", { bounds: { quotaBytes, maxAnswers } }: AnswerWrite): ApiError {
    if (outcome === "erased") return ownerErased();
    if (outcome === "over_quota") return overQuota(quotaBytes ?? 0);
    const message = `You have reached your limit of ${maxAnswers} stored answers. Delete some, or let them expire.`;
    return new ApiError("storage_quota_exceeded", message);
  }
}
