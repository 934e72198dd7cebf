import type { ApiError } from "../openapi/api-error.ts";
import type { Ticket, WorkListener } from "./engine.ts";

/** The ticket of work that can't run now: its listener fails after the call has returned, unless the ticket is cancelled. */
export function refusedHandle(listener: WorkListener, refusal: ApiError): Ticket {
  let cancelled = false;
  queueMicrotask(() => {
    if (!cancelled) listener.failed(refusal);
  });
  return {
    cancel: () => {
      cancelled = true;
    },
  };
}
