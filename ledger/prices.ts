import type { LedgerTier } from "../store/tables/ledger.ts";

/** USD per million tokens. */
export interface ModelPrice {
  input: number;
  cachedInput: number;
  output: number;
}

/** The machine's price in USD per hour; null where it is not set. */
export interface MachinePrice {
  onDemand: number | null;
  spot: number | null;
}

export type TierFactors = Record<LedgerTier, number>;

export interface TokenCounts {
  inputTokens: number;
  /** Part of inputTokens. */
  cachedTokens: number;
  outputTokens: number;
}

export const DEFAULT_TIER_FACTORS: TierFactors = { priority: 1.75, default: 1, flex: 0.5, batch: 0.5 };

/** The demo model has a price, so that costs are visible from the first minute. */
export const DEFAULT_PRICES: Readonly<Record<string, ModelPrice>> = {
  demo: { input: 0.1, cachedInput: 0.02, output: 0.4 },
};

const FREE: ModelPrice = { input: 0, cachedInput: 0, output: 0 };

/**
 * Pico-dollars per token at USD 1 per million tokens. Prices have a resolution of a millionth of that, factors of a
 * thousandth, so both are integers.
 */
const PICO_PER_PRICE = 1e6;
const FACTOR_UNIT = 1000n;
const PICO_PER_NANO = 1000n;

/**
 * Costs of requests in whole nano-dollars. USD 1 per million tokens is 1000 nano-dollars per token. All arithmetic is
 * on integers; a row is rounded once, half up, after its tokens are priced, summed and multiplied by the tier's factor.
 */
export class Prices {
  #prices: ReadonlyMap<string, ModelPrice> = new Map();
  #factors: TierFactors = DEFAULT_TIER_FACTORS;

  /** A model without a price is free. */
  constructor(prices: Readonly<Record<string, ModelPrice>>, factors: TierFactors) {
    this.replace(prices, factors);
  }

  /** Applies to requests that end from now on; existing ledger rows stay. */
  replace(prices: Readonly<Record<string, ModelPrice>>, factors: TierFactors): void {
    this.#prices = new Map(Object.entries(prices));
    this.#factors = factors;
  }

  costNano(model: string, tier: LedgerTier, { inputTokens, cachedTokens, outputTokens }: TokenCounts): number {
    const price = this.#prices.get(model) ?? FREE;
    const pico =
      BigInt(inputTokens - cachedTokens) * picoOf(price.input) +
      BigInt(cachedTokens) * picoOf(price.cachedInput) +
      BigInt(outputTokens) * picoOf(price.output);
    const unit = FACTOR_UNIT * PICO_PER_NANO;
    const factor = BigInt(Math.round(this.#factors[tier] * Number(FACTOR_UNIT)));
    return Number((pico * factor + unit / 2n) / unit);
  }

  /** Nano-dollars per token, with fractions: for reservations, never for charges. */
  rates(model: string, tier: LedgerTier): { inputNano: number; outputNano: number } {
    const { input, output } = this.#prices.get(model) ?? FREE;
    const factor = this.#factors[tier] * NANO_PER_PRICE;
    return { inputNano: input * factor, outputNano: output * factor };
  }
}

/** Tokens read and written. */
export function tokensOf({ inputTokens, outputTokens }: Pick<TokenCounts, "inputTokens" | "outputTokens">): number {
  return inputTokens + outputTokens;
}

/** Nano-dollars per token at USD 1 per million tokens. */
const NANO_PER_PRICE = 1000;

/** Pico-dollars per token. */
function picoOf(usdPerMillion: number): bigint {
  return BigInt(Math.round(usdPerMillion * PICO_PER_PRICE));
}

/** 1234567 → "0.001234567": exact, for people and for JSON that must not pass through floats. */
export function usdText(nano: number): string {
  const digits = String(Math.abs(nano)).padStart(10, "0");
  return `${nano < 0 ? "-" : ""}${digits.slice(0, -9)}.${digits.slice(-9)}`;
}
