import type { ApiError } from "../../openapi/api-error.ts";
import type { Ticket, WorkListener } from "../engine.ts";

/** What is got for work that can't run now: its listener hears so after the call has returned, unless it is cancelled. */
export function refusedTicket(listener: WorkListener, refusal: ApiError): Ticket {
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
