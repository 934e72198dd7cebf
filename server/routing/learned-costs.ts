import type { Prices, TokenCounts } from "../../ledger/prices.ts";
import type { LedgerSink } from "../../ledger/usage-ledger.ts";
import type { Store } from "../../store/store.ts";
import type { LedgerRow, LedgerTier } from "../../store/tables/ledger.ts";
import type { RequestTraits } from "./request-traits.ts";

/** Rows of the ledger that are read at the start. */
const RECENT_ROWS = 10_000;
/** Least weight of the latest request in the means: of the first ones each has the same. */
const LATEST = 1 / 16;
/** Prompts of up to 256, 1,024, 4,096 and 16,384 tokens are classes of their own, and all longer ones. */
const CLASS_BOUNDS = [256, 1024, 4096, 16_384];

/** The part of a ledger row that costs are learned from. */
type Charged = Pick<LedgerRow, "model" | "batchId"> & TokenCounts;

/** Mean tokens of the requests of one model. */
interface Means extends TokenCounts {
  requests: number;
}

/**
 * The cost of an answered request at each model, as the ledger shows it. Costs are linear in tokens, so the means of tokens at
 * the present prices are the means of costs, also after prices have changed.
 */
export class LearnedCosts implements LedgerSink {
  readonly #prices: Pick<Prices, "costNano">;
  readonly #byClass = new Map<string, Means>();
  readonly #byModel = new Map<string, Means>();

  constructor(prices: Pick<Prices, "costNano">) {
    this.#prices = prices;
  }

  /** With what the latest rows of the ledger teach. */
  static async open(store: Pick<Store, "ledger">, prices: Pick<Prices, "costNano">): Promise<LearnedCosts> {
    const costs = new LearnedCosts(prices);
    for (const row of await store.ledger.recent({ rows: RECENT_ROWS })) costs.charged(row);
    return costs;
  }

  /** Batch lines are other requests than those that are routed; embeddings have no answer. */
  charged({ model, batchId, ...counts }: Charged): void {
    if (batchId !== null || counts.outputTokens === 0) return;
    learn(this.#byClass, keyOf(model, counts.inputTokens), counts);
    learn(this.#byModel, model, counts);
  }

  /** Nano-dollars of a request with a prompt of this class; null before the first such request. */
  expectedNano(
    model: string,
    tier: LedgerTier,
    { promptTokens, maxTokens }: Pick<RequestTraits, "promptTokens" | "maxTokens">,
  ): number | null {
    const means = this.#byClass.get(keyOf(model, promptTokens));
    if (means === undefined) return null;
    const outputTokens = Math.min(means.outputTokens, maxTokens ?? means.outputTokens);
    return this.#prices.costNano(model, tier, whole({ ...means, outputTokens }));
  }

  /** The mean over prompts of all lengths, at tier default; null before the first request. */
  meanNano(model: string): number | null {
    const means = this.#byModel.get(model);
    return means === undefined ? null : this.#prices.costNano(model, "default", whole(means));
  }
}

function learn(all: Map<string, Means>, key: string, { inputTokens, cachedTokens, outputTokens }: TokenCounts): void {
  const before = all.get(key) ?? { requests: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0 };
  const requests = before.requests + 1;
  const mean = (old: number, latest: number) => old + (latest - old) * Math.max(LATEST, 1 / requests);
  all.set(key, {
    requests,
    inputTokens: mean(before.inputTokens, inputTokens),
    cachedTokens: mean(before.cachedTokens, cachedTokens),
    outputTokens: mean(before.outputTokens, outputTokens),
  });
}

function keyOf(model: string, promptTokens: number): string {
  return `${promptClass(promptTokens)} ${model}`;
}

/** The class of a prompt's length. */
export function promptClass(tokens: number): number {
  const index = CLASS_BOUNDS.findIndex((bound) => tokens <= bound);
  return index === -1 ? CLASS_BOUNDS.length : index;
}

/** Prices are per whole token. */
function whole({ inputTokens, cachedTokens, outputTokens }: TokenCounts): TokenCounts {
  return {
    inputTokens: Math.round(inputTokens),
    cachedTokens: Math.round(cachedTokens),
    outputTokens: Math.round(outputTokens),
  };
}
