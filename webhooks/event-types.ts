export const EVENT_TYPES = [
  "batch.completed",
  "batch.failed",
  "batch.expired",
  "batch.cancelled",
  "nightshift.budget.warning",
] as const;
