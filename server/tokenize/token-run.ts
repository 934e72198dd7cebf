import type { TokenAnswer, TokenQuestion } from "../../engine/protocol/tokenize.ts";
import type { ReadyModel } from "../admission/ready-model.ts";
import { noTokens, type UsageEstimate } from "../admission/usage-estimate.ts";
import { sendJson } from "../http/respond.ts";
import type { InferenceRun, Outcome, RunContext } from "../inference/endpoint.ts";

export type Tokenizer = (question: TokenQuestion) => Promise<TokenAnswer>;

/**
 * A request of which texts are tokenized only. It is one request of its key's rate limit, waits in its owner's part of the
 * model's queue, and costs no tokens.
 */
export class TokenRun implements InferenceRun {
  readonly demand = { tier: "default", requests: 1, bounded: false } as const;
  readonly #ready: ReadyModel;
  readonly #answer: (tokenize: Tokenizer) => Promise<string>;

  /** `answer` makes the body as JSON text. */
  constructor(ready: ReadyModel, answer: (tokenize: Tokenizer) => Promise<string>) {
    this.#ready = ready;
    this.#answer = answer;
  }

  estimate(): UsageEstimate {
    return noTokens(this.#ready, this.demand.tier);
  }

  async start({ exchange }: RunContext): Promise<Outcome> {
    const { req, res, caller, disconnected } = exchange;
    const { load, model } = this.#ready;
    const entry = { tier: this.demand.tier, owner: caller.owner, sequences: 0 };
    load.arrive(entry);
    try {
      const text = await this.#answer((question) => model.engine.tokenize(question, disconnected));
      sendJson(req, res, 200, text);
    } finally {
      load.leave("waiting", entry);
    }
    return { status: "ok", use: null, charged: false, send: null };
  }
}
