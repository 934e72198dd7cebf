import { z } from "zod";
import type { ModelPrice, TierFactors } from "../../../ledger/prices.ts";
import type { Kind } from "./kind.ts";

const usdPerMillion = z.number().min(0).max(1_000_000);
const price = z.strictObject({ input: usdPerMillion, cachedInput: usdPerMillion, output: usdPerMillion });

/** `name=0.10/0.02/0.40`, divided at the last `=`, because a name may contain one. */
const writtenPrice = z
  .string()
  .trim()
  .regex(/^.+=[\d.]+\/[\d.]+\/[\d.]+$/)
  .transform((text) => {
    const divider = text.lastIndexOf("=");
    const [input, cachedInput, output] = text
      .slice(divider + 1)
      .split("/")
      .map(Number);
    return [text.slice(0, divider), { input, cachedInput, output }] as const;
  });

/** Prices by model; in the file a map of models to `{input, cachedInput, output}`. */
export function prices(): Kind<Record<string, ModelPrice>> {
  const fromTexts = z
    .union([writtenPrice.transform((one) => [one]), z.array(writtenPrice).max(1000)])
    .transform((list) => Object.fromEntries(list));
  return {
    metavar: "model=in/cached/out",
    allowed:
      "model=input/cached input/output in USD per million tokens, such as demo=0.10/0.02/0.40; in the file a map of " +
      "models to {input, cachedInput, output}",
    schema: z.union([fromTexts, z.record(z.string(), z.unknown())]).pipe(z.record(z.string().min(1).max(256), price)),
    list: true,
  };
}

const factor = z.number().min(0).max(1000);
const factors = z.strictObject({
  priority: factor.optional(),
  default: factor.optional(),
  flex: factor.optional(),
  batch: factor.optional(),
});

/** Factors of the tiers that differ from the default. */
export function tierFactors(): Kind<Partial<TierFactors>> {
  const written = z
    .string()
    .trim()
    .regex(/^\w+=[\d.]+$/)
    .transform((text) => {
      const [tier = "", value] = text.split("=");
      return [tier, Number(value)] as const;
    });
  const fromTexts = z
    .union([written.transform((one) => [one]), z.array(written).max(4)])
    .transform((list) => Object.fromEntries(list));
  return {
    metavar: "tier=factor",
    allowed: "tier=factor with a tier of priority, default, flex and batch; in the file a map",
    schema: z.union([fromTexts, z.record(z.string(), z.unknown())]).pipe(factors),
    list: true,
  };
}
