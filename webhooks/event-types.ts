export const EVENT_TYPES = [
  "batch.completed",
  "batch.failed",
  "batch.expired",
  "batch.cancelled",
  "response.completed",
  "response.failed",
  "response.cancelled",
  "response.incomplete",
  "nightshift.budget.warning",
] as const;
