import type { GivenItem, Item } from "../../../openapi/responses/item.ts";

type AnyItem = GivenItem | Item;

/** True where a last item asks for a compaction of those before it. */
export function asksCompaction(input: unknown): boolean {
  return Array.isArray(input) && Object(input.at(-1)).type === "compaction_trigger";
}

/** True where a compaction of items would leave some out. */
export function isCompactable(items: readonly AnyItem[]): boolean {
  const since = items.slice(items.findLastIndex(({ type }) => type === "compaction") + 1);
  return since.some((item) => item.type !== "message" || item.role === "assistant");
}

/** Bytes of older messages of the user that stay beside a compaction. */
const KEPT_BYTES = 8192;

/** The items of which a prompt is made: before the last compaction, those alone that stay beside it. */
export function compacted<Each extends AnyItem>(items: readonly Each[]): Each[] {
  const last = items.findLastIndex(({ type }) => type === "compaction");
  return last === -1 ? [...items] : [...keptMessages(items.slice(0, last)), ...items.slice(last)];
}

/**
 * The messages that stay beside a compaction of items: those of system and developer, the user's newest one, and older ones
 * up to a bound.
 */
export function keptMessages<Each extends AnyItem>(items: readonly Each[]): Each[] {
  let bytes = 0;
  let newest = true;
  const kept: Each[] = [];
  for (const item of items.toReversed()) {
    if (item.type !== "message" || item.role === "assistant") continue;
    if (item.role === "user") {
      bytes += newest ? 0 : Buffer.byteLength(JSON.stringify(item.content));
      newest = false;
      if (bytes > KEPT_BYTES) continue;
    }
    kept.push(item);
  }
  return kept.reverse();
}
