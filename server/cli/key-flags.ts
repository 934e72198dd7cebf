import { type Command, Option } from "commander";
import { OptionsError } from "../../platform/options-error.ts";
import { keeping } from "../options/kinds/duration-kind.ts";

/** Flags of a key's limits, by API field. */
const BOUNDS = {
  requests_per_minute: "requests per minute",
  tokens_per_minute: "tokens per minute",
  concurrent: "requests that run or wait at the same time",
  enqueued_tokens: "estimated tokens of unfinished batches",
  storage_bytes: "bytes of files",
} as const;
const BUDGET = {
  daily_usd: "budget per UTC day",
  monthly_usd: "budget per UTC month",
  soft_ratio: "share of a budget at which a warning event is sent, such as 0.8",
} as const;

export type KeyFlags = Record<string, string | string[] | undefined>;

/** Adds a flag for each limit; values are text. */
export function addKeyFlags(command: Command): Command {
  for (const [field, help] of Object.entries({ ...BOUNDS, ...BUDGET })) {
    command.addOption(new Option(`--${field.replaceAll("_", "-")} <n>`, `${help}; none removes the limit`));
  }
  for (const [flag, help] of [
    ["model", "a model that the key may use; all removes the limit"],
    ["tier", "a tier that the key may use: priority, default, flex, batch"],
  ]) {
    command.option(`--${flag} <${flag}>`, `${help}. Repeatable`, (value: string, earlier: string[] | undefined) => [
      ...(earlier ?? []),
      value,
    ]);
  }
  return command.option("--expires-in <duration>", "period of validity, such as 12h, 30d or forever");
}

/** The API fields that the flags set. `now`: Unix seconds. Throws OptionsError. */
export function fieldsOf(flags: KeyFlags, now: number): Record<string, unknown> {
  const numbers = (names: object) =>
    Object.fromEntries(
      Object.keys(names).flatMap((field) => {
        const value = flags[camel(field)];
        return typeof value === "string" ? [[field, numberOf(field, value)]] : [];
      }),
    );
  const budget = numbers(BUDGET);
  const { model, tier, expiresIn } = flags;
  return {
    ...numbers(BOUNDS),
    ...(Object.keys(budget).length > 0 && { budget }),
    ...(Array.isArray(model) && { models: model.includes("all") ? null : model }),
    ...(Array.isArray(tier) && { tiers: tier }),
    ...(typeof expiresIn === "string" && { expires_at: expiryOf(expiresIn, now) }),
  };
}

/** Seconds of `90s`, `5m`, `12h`, `30d`; null for `forever`. Throws OptionsError. */
export function secondsOf(flag: string, text: string): number | null {
  const { schema, allowed } = keeping();
  const result = schema.safeParse(text);
  if (!result.success) throw new OptionsError(`${flag} must be ${allowed}; it is ${JSON.stringify(text)}.`);
  return result.data;
}

function expiryOf(text: string, now: number): number | null {
  const seconds = secondsOf("--expires-in", text);
  return seconds === null ? null : now + seconds;
}

function numberOf(field: string, text: string): number | null {
  if (text === "none") return null;
  if (/^\d{1,13}(\.\d{1,9})?$/.test(text)) return Number(text);
  const flag = `--${field.replaceAll("_", "-")}`;
  throw new OptionsError(`${flag} must be a number or none; it is ${JSON.stringify(text.slice(0, 64))}.`);
}

function camel(field: string): string {
  return field.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}
