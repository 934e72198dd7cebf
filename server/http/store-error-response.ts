import { ApiError, unavailable } from "../../openapi/api-error.ts";
import { StoreError } from "../../store/types/store-error.ts";

/** Seconds of Retry-After while the store fails. */
const RETRY_AFTER = 5;

/** Awaits an operation of the store; its failure becomes the answer: 507 when the disk is full, else 503. */
export async function fromStore<T>(operation: Promise<T>): Promise<T> {
  try {
    return await operation;
  } catch (error) {
    if (error instanceof StoreError) throw apiError(error);
    throw error;
  }
}

/** The store's own messages name files of this machine; they are only logged. */
function apiError(error: StoreError): Error {
  switch (error.code) {
    case "full":
      return new ApiError("insufficient_storage", "The server's disk is full; nothing was stored.", {
        retryAfter: RETRY_AFTER,
      });
    case "busy":
      return unavailable("store_busy", "The store is busy; try again.", RETRY_AFTER);
    case "io":
    case "closed":
    case "corrupt":
      return unavailable(
        "store_unavailable",
        "The store does not work at the moment; nothing was stored.",
        RETRY_AFTER,
      );
    default:
      return error;
  }
}
