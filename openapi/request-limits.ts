/** Caps on what one request may ask for; they stand in the schemas and so in /openapi.json. */
export interface RequestLimits {
  /** Most choices (`n`) of one request; OpenAI's own bound is 128. */
  choices: number;
  /** Most messages of one chat request. */
  messages: number;
  /** Most prompts of one completion request. */
  prompts: number;
  /** Most tokens of one prompt that is given as tokens; the model's context bounds it further. */
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
