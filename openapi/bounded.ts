import { z } from "zod";

/**
 * A list whose length is checked before its items, and that ends at its first bad item. zod alone would note an issue
 * for each bad item: five million of them, in a body of 10 MB, take gigabytes.
 */
export function boundedList<Item extends z.ZodType>(item: Item, bounds: { min?: number; max: number }) {
  return z.preprocess(
    (value, context) => {
      if (!Array.isArray(value)) return value;
      if (value.length > bounds.max) {
        context.issues.push({ code: "too_big", origin: "array", maximum: bounds.max, input: value });
        return value;
      }
      const bad = value.findIndex((entry) => !item.safeParse(entry).success);
      return bad === -1 ? value : value.slice(0, bad + 1);
    },
    z
      .array(item)
      .min(bounds.min ?? 0)
      .max(bounds.max),
  );
}

/** A map whose size is checked before its entries, for the same reason. */
export function boundedMap<Value extends z.ZodType>(key: z.ZodString, value: Value, max: number) {
  return z.preprocess(
    (map, context) => {
      if (typeof map === "object" && map !== null && Object.keys(map).length > max) {
        context.issues.push({ code: "too_big", origin: "object", maximum: max, input: map });
      }
      return map;
    },
    z.record(key, value),
  );
}
