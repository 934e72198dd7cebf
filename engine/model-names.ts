/** The names beside their own by which clients may request models. */
export interface ModelNames {
  /** A model's own name by alias. */
  aliases: Readonly<Record<string, string>>;
  /** The model that any other name stands for; null for none. */
  otherwise: string | null;
}

export const OWN_NAMES: ModelNames = { aliases: {}, otherwise: null };

/** The own name of the model among `served` that a client means by `name`; null when there is none. */
export function modelNamed({ aliases, otherwise }: ModelNames, served: readonly string[], name: string): string | null {
  if (served.includes(name)) return name;
  const model = Object.hasOwn(aliases, name) ? aliases[name]! : otherwise;
  return model !== null && served.includes(model) ? model : null;
}
