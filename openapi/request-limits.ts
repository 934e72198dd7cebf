/** Upper bounds on one request. They are part of the schemas, and so of /openapi.json. */
export interface RequestLimits {
  /** Most choices (`n`) of one request; OpenAI's own bound is 128. */
  choices: number;
  /** Most messages of one chat request. */
  messages: number;
  /** Most prompts of one completion request. */
  prompts: number;
  /** Most tokens of one prompt given as token ids; the context of the model is a further bound. */
  promptTokens: number;
  /** Most characters of one text: a prompt, or a message's content. */
  textLength: number;
}

export const DEFAULT_REQUEST_LIMITS: RequestLimits = {
  choices: 16,
  messages: 4096,
  prompts: 128,
  promptTokens: 1024 * 1024,
  textLength: 8 * 1024 * 1024,
};
