/** The properties of a request that rules of routes read. */
export interface RequestTraits {
  /** An estimate. */
  promptTokens: number;
  /** Of one answer at most; null where the request has no bound. */
  maxTokens: number | null;
  tools: boolean;
  form: boolean;
  /** The last message of the user, or the prompt; its beginning. */
  text: string;
}

export const NO_TRAITS: RequestTraits = { promptTokens: 0, maxTokens: 0, tools: false, form: false, text: "" };
