import { z } from "zod";

/** A list with bounds on its length, which zod checks before the items. */
export function boundedList<Item extends z.ZodType>(item: Item, { min = 0, max }: { min?: number; max: number }) {
  return z.array(item).min(min).max(max);
}

/**
 * A map whose size is checked before its entries: zod alone would report an issue for each entry. It would also drop an
 * entry named __proto__ silently.
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
          message: "no entry may be named __proto__",
          input: map,
          continue: false,
        });
      }
      return map;
    },
    z.record(key, value),
  );
}
