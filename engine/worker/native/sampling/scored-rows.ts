/**
 * Most prompt tokens of a step with requested log probabilities. A row is the whole vocabulary, and reading it takes the
 * JavaScript thread half a millisecond at 151,936 tokens: these rows are 20 MB and 15 ms.
 */
export const MOST_SCORED = 32;
