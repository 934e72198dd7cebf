/** The batch that runs a background response: `resp_X` is run by `batch_X`. */
export function batchOfResponse(id: string): string {
  return id.replace("resp_", "batch_");
}

/** The background response that a batch would run. No response has the id unless it was created with the batch. */
export function responseOfBatch(id: string): string {
  return id.replace("batch_", "resp_");
}
