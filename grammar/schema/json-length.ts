/**
 * A value as JSON; null if that has more than `characters`. A much longer value is visited only in part and not written: a
 * million values take a fifth of a second to write.
 */
export function jsonWithin(value: unknown, characters: number): string | null {
  if (leftAfter(value, characters) < 0) return null;
  const text = JSON.stringify(value);
  return text.length > characters ? null : text;
}

export function isLongerThan(value: unknown, characters: number): boolean {
  return jsonWithin(value, characters) === null;
}

/** `characters` minus the fewest that the value may have; negative if it has more. */
function leftAfter(value: unknown, characters: number): number {
  if (typeof value === "string") return characters - value.length - 2;
  if (typeof value !== "object" || value === null) return characters - 1;
  let left = characters - 2;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length && left >= 0; i++) left = leftAfter(value[i], left);
    return left;
  }
  for (const key in value) {
    left = leftAfter(Reflect.get(value, key), left - key.length - 3);
    if (left < 0) break;
  }
  return left;
}
