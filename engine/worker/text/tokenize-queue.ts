import { TOKENIZED_AT_ONCE } from "../../protocol/config.ts";
import { TIERS, type Tier } from "../../protocol/request.ts";

const ONLINE: readonly Tier[] = ["priority", "default"];

/** Whose text it is. */
export interface TextOwner {
  tier: Tier;
  /** False once the request was cancelled. */
  isWanted(): boolean;
}

/**
 * Long texts on their way to another thread, or grammars that are compiled: a bounded number at once, the others wait in the
 * order of their tiers. Flex and batch leave one place to online work, however long their texts are.
 */
export class TokenizeQueue {
  readonly #waiting = TIERS.map((tier) => ({ tier, admit: [] as (() => void)[] }));
  #running = 0;

  /** Null for what is cancelled before its turn. */
  async run<T>({ tier, isWanted }: TextOwner, tokenize: () => Promise<T>): Promise<T | null> {
    await this.#enter(tier);
    try {
      return isWanted() ? await tokenize() : null;
    } finally {
      this.#running--;
      this.#admit();
    }
  }

  #enter(tier: Tier): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.find((queue) => queue.tier === tier)!.admit.push(resolve);
      this.#admit();
    });
  }

  #admit(): void {
    for (const { tier, admit } of this.#waiting) {
      const places = ONLINE.includes(tier) ? TOKENIZED_AT_ONCE : TOKENIZED_AT_ONCE - 1;
      while (this.#running < places && admit.length > 0) {
        this.#running++;
        admit.shift()!();
      }
    }
  }
}
