import type { Prompt } from "../protocol/prompt.ts";

/**
 * The text whose prompts kill this process, so that tests can show what a request that crashes llama.cpp does to others:
 * NIGHTSHIFT_FAILPOINTS has `engine.submit:abort-on=` and the text.
 */
const POISON = /(?:^|,)engine\.submit:abort-on=([^,]+)/.exec(process.env.NIGHTSHIFT_FAILPOINTS ?? "")?.[1];

/** Dies when it is armed and the prompt has the text. */
export function poisonFailpoint(prompt: Prompt): void {
  if (POISON !== undefined && JSON.stringify(prompt).includes(POISON)) process.kill(process.pid, "SIGKILL");
}
