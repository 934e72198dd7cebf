import { z } from "zod";

/** A list; validate() checks its length before its items. */
export function boundedList<Item extends z.ZodType>(item: Item, { min = 0, max }: { min?: number; max: number }) {
  return z.array(item).min(min).max(max);
}

/**
 * A map whose size is checked before its entries: zod alone would note an issue for each of them. It would also leave an
 * entry named __proto__ out without a word.
 */
export function boundedMap<Value extends z.ZodType>(key: z.ZodString, value: Value, max: number) {
  return z.preprocess(
    (map, context) => {
      if (typeof map === "object" && map !== null && Object.keys(map).length > max) {
        context.issues.push({ code: "too_big", origin: "object", maximum: max, input: map, continue: false });
      }
      if (typeof map === "object" && map !== null && Object.hasOwn(map, "__proto__")) {
        context.issues.push({
          code: "custom",
          message: "No entry may be named __proto__.",
          input: map,
          continue: false,
        });
      }
      return map;
    },
    z.record(key, value),
  );
}
