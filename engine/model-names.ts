/** The names beside their own by which clients may request models. */
export interface ModelNames {
  /** A model's own name by alias. An alias that ends with `*` stands for all names that begin with the text before it. */
  aliases: Readonly<Record<string, string>>;
  /** The model that any other name stands for; null for none. */
  otherwise: string | null;
}

export const OWN_NAMES: ModelNames = { aliases: {}, otherwise: null };

/** The own name of the model among `served` that a client means by `name`; null when there is none. */
export function modelNamed({ aliases, otherwise }: ModelNames, served: readonly string[], name: string): string | null {
  if (served.includes(name)) return name;
  const model = aliased(aliases, name) ?? otherwise;
  return model !== null && served.includes(model) ? model : null;
}

/** The own name that an alias stands for: of the alias itself, else of the longest one with `*` that fits; null for none. */
export function aliased(aliases: ModelNames["aliases"], name: string): string | null {
  if (Object.hasOwn(aliases, name)) return aliases[name]!;
  let best: string | null = null;
  for (const alias of Object.keys(aliases)) {
    const fits = isPattern(alias) && name.startsWith(alias.slice(0, -1));
    if (fits && alias.length > (best?.length ?? 0)) best = alias;
  }
  return best === null ? null : aliases[best]!;
}

/** True for an alias that stands for several names. */
export function isPattern(alias: string): boolean {
  return alias.endsWith("*");
}
