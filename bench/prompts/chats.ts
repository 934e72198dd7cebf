import { type Sample, stream } from "../target/stream.ts";
import type { Target } from "../target/target.ts";

/** Streams one short chat after the other while other work runs. */
export class Chats {
  readonly #target: Target;
  #samples: Sample[] = [];
  #ended: () => void = () => {};

  constructor(target: Target) {
    this.#target = target;
  }

  async during<T>(work: () => Promise<T>): Promise<T> {
    let over = false;
    const chat = async () => {
      const messages = [{ role: "user", content: "Count from 1 to 50." }];
      while (!over) {
        const body = { path: "chat/completions", messages, max_tokens: 64, ignore_eos: true } as const;
        this.#samples.push(await stream(this.#target, body));
        this.#ended();
      }
    };
    const stop = () => {
      over = true;
    };
    const [result] = await Promise.all([work().finally(stop), chat()]);
    return result;
  }

  /** The longest gap between two events of the streams sent since then, the current one included. */
  async longestGap(since: number): Promise<number> {
    await new Promise<void>((resolve) => {
      this.#ended = resolve;
    });
    const gaps = this.#samples.filter(({ sentAt }) => sentAt >= since).flatMap((sample) => sample.gaps);
    this.#samples = [];
    return Math.max(...gaps);
  }
}
