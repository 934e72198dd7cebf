/** The address beside a base URL, where engines have their metrics and tokenizers: without `/v1`, and KServe's `/openai/v1`. */
export function replicaRoot(baseUrl: string): string {
  return baseUrl.replace(/(\/openai)?\/v1$/, "");
}
