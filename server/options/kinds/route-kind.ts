import { z } from "zod";
import { ONLINE_TIERS } from "../../../engine/protocol/request.ts";
import type { Kind } from "./kind.ts";
import { windowText } from "./shift-kind.ts";

/** The ways in which the model is chosen where no rule holds. */
export const ROUTE_CHOICES = ["first", "cheapest", "fastest"] as const;
export type RouteChoice = (typeof ROUTE_CHOICES)[number];

/** The steps that follow where a model refuses a request for load. */
const OVERFLOW_STEPS = ["model", "flex"] as const;
export type OverflowStep = (typeof OVERFLOW_STEPS)[number];

const MOST_MODELS = 16;
const MOST_RULES = 64;

const name = z.string().min(1).max(256);
const oneOrMore = <T>(one: z.ZodType<T>) =>
  z.preprocess((value) => (Array.isArray(value) ? value : [value]), z.array(one).min(1).max(100));

const pattern = z
  .string()
  .min(1)
  .max(1024)
  .refine((text) => {
    try {
      return new RegExp(text, "iu") !== null;
    } catch {
      return false;
    }
  }, "is not a regular expression");

const condition = z.strictObject({
  promptTokens: z.number().int().min(1).max(100_000_000).optional(),
  tools: z.boolean().optional(),
  form: z.boolean().optional(),
  tiers: oneOrMore(z.enum(ONLINE_TIERS)).optional(),
  owners: oneOrMore(name).optional(),
  text: pattern.optional(),
  waitMs: z.number().int().min(1).max(3_600_000).optional(),
  hours: oneOrMore(windowText).optional(),
  budgetLeft: z.number().min(0).max(1).optional(),
});

/** True is `[model]`. */
const overflow = z.preprocess(
  (value) => (typeof value === "boolean" ? (value ? ["model"] : []) : value),
  z
    .array(z.enum(OVERFLOW_STEPS))
    .max(OVERFLOW_STEPS.length)
    .refine((steps) => new Set(steps).size === steps.length, "names a step twice"),
);

const route = z
  .strictObject({
    models: z
      .array(name)
      .min(1)
      .max(MOST_MODELS)
      .refine((models) => new Set(models).size === models.length, "names a model twice"),
    rules: z
      .array(z.strictObject({ when: condition, model: name }))
      .max(MOST_RULES)
      .default([]),
    choose: z.enum(ROUTE_CHOICES).default("first"),
    overflow: overflow.default([]),
  })
  .superRefine(({ models, rules }, context) => {
    const other = rules.find((rule) => !models.includes(rule.model));
    if (other === undefined) return;
    context.addIssue({ code: "custom", message: `has a rule for '${other.model}', which is not among its models` });
  });

/** Routes by name, as the file sets them. */
export type RouteSettings = Record<string, z.infer<typeof route>>;

/** Names of several models. Only the file sets them: rules do not fit on a command line. */
export function routes(): Kind<RouteSettings> {
  return {
    metavar: "map",
    allowed: "a map of names to maps of models, and, where wanted, rules, choose and overflow",
    schema: z
      .record(name, route)
      .refine(
        (all) => Object.keys(all).length <= 100,
        "has more than 100 routes",
      ) as unknown as z.ZodType<RouteSettings>,
    nested: true,
    fileOnly: true,
  };
}
