import { z } from "zod";
import { boundedList } from "../bounded-schema.ts";

/** llama-server's samplers, with the letters of its short form, in its default order. */
const LETTERS = {
  penalties: "e",
  dry: "d",
  top_n_sigma: "s",
  top_k: "k",
  typ_p: "y",
  top_p: "p",
  min_p: "m",
  xtc: "x",
  temperature: "t",
} as const;

export type SamplerName = keyof typeof LETTERS;

/** llama-server's other names, beside those with hyphens or without underscores. */
const ALIASES: Record<string, SamplerName> = {
  nucleus: "top_p",
  temp: "temperature",
  typ: "typ_p",
  typical_p: "typ_p",
};

export const DEFAULT_SAMPLERS = Object.keys(LETTERS) as readonly SamplerName[];

/** Samplers that write logits of single tokens into the row, before llama.cpp's chain reads it. */
export const LOGIT_SAMPLERS: readonly SamplerName[] = ["penalties", "dry"];

const BY_LETTER = new Map<string, SamplerName>(DEFAULT_SAMPLERS.map((name) => [LETTERS[name], name]));
const BY_NAME = new Map<string, SamplerName>([
  ...DEFAULT_SAMPLERS.flatMap((name): [string, SamplerName][] =>
    [name, name.replaceAll("_", "-"), name.replaceAll("_", "")].map((spelling) => [spelling, name]),
  ),
  ...Object.entries(ALIASES),
]);
const LONGEST_NAME = 16;

/** The order of samplers, as a list of names or a text of letters. Samplers that it leaves out are not used. */
export const samplersField = z
  .union([
    z.string().max(DEFAULT_SAMPLERS.length),
    boundedList(z.string().max(LONGEST_NAME), { max: DEFAULT_SAMPLERS.length }),
  ])
  .check((context) => {
    const { value, issues } = context;
    const complain = (index: number | null, message: string) =>
      issues.push({ code: "custom", input: value, path: index === null ? [] : [index], message });
    const named = spellings(value);
    const found = named.map((spelling) => samplerOf(value, spelling));
    const unknown = found.indexOf(undefined);
    if (unknown >= 0) {
      const names = DEFAULT_SAMPLERS.map((name) => `${name} (${LETTERS[name]})`).join(", ");
      complain(typeof value === "string" ? null : unknown, `the samplers are ${names}`);
      return;
    }
    if (new Set(found).size < found.length) complain(null, "it names a sampler twice");
    const late = found.findIndex((name, i) => i > 0 && isLogitSampler(name) && !isLogitSampler(found[i - 1]));
    if (late >= 0) complain(null, "penalties and dry are only supported before all other samplers");
  })
  .nullish()
  .describe(
    "Extension. Order of the samplers: a list of names, or one text of llama-server's letters. Others are not used. " +
      `penalties and dry come before all others. Default: ${DEFAULT_SAMPLERS.join(", ")}.`,
  );

/** The order that a valid field gives. */
export function samplerOrder(field: z.infer<typeof samplersField>): readonly SamplerName[] {
  if (field == null) return DEFAULT_SAMPLERS;
  return spellings(field).flatMap((spelling) => samplerOf(field, spelling) ?? []);
}

function spellings(field: string | readonly string[]): readonly string[] {
  return typeof field === "string" ? [...field] : field;
}

function samplerOf(field: string | readonly string[], spelling: string): SamplerName | undefined {
  return typeof field === "string" ? BY_LETTER.get(spelling) : BY_NAME.get(spelling.toLowerCase());
}

function isLogitSampler(name: SamplerName | undefined): boolean {
  return name !== undefined && LOGIT_SAMPLERS.includes(name);
}
