import { TOKENIZED_AT_ONCE } from "../../protocol/config.ts";
import { TIERS, type Tier } from "../../protocol/request.ts";

const ONLINE: readonly Tier[] = ["priority", "default"];

/** The request that a text belongs to. */
export interface TextOwner {
  tier: Tier;
  /** False once the request was cancelled. */
  isWanted(): boolean;
}

/**
 * Runs a bounded number of long tasks at once (tokenizing on another thread, rendering, compiling grammars); the others wait in
 * the order of their tiers. Flex and batch leave one task to online work, however long their texts are.
 */
export class TokenizeQueue {
  readonly #waiting = TIERS.map((tier) => ({ tier, starts: [] as (() => void)[] }));
  #running = 0;

  /** Null for a task that is cancelled before it starts. */
  async run<T>({ tier, isWanted }: TextOwner, tokenize: () => Promise<T>): Promise<T | null> {
    await this.#enter(tier);
    try {
      return isWanted() ? await tokenize() : null;
    } finally {
      this.#running--;
      this.#startNext();
    }
  }

  #enter(tier: Tier): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.find((queue) => queue.tier === tier)!.starts.push(resolve);
      this.#startNext();
    });
  }

  #startNext(): void {
    for (const { tier, starts } of this.#waiting) {
      const atOnce = ONLINE.includes(tier) ? TOKENIZED_AT_ONCE : TOKENIZED_AT_ONCE - 1;
      while (this.#running < atOnce && starts.length > 0) {
        this.#running++;
        starts.shift()!();
      }
    }
  }
}
