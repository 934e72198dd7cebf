import type { IncomingMessage, ServerResponse } from "node:http";
import type { NewItem } from "../../../store/types/answer-rows.ts";
import { sendLargeJson } from "../../http/respond.ts";

/** Sends a page of items, whose texts are JSON already. */
export function sendItems(
  req: IncomingMessage,
  res: ServerResponse,
  { rows, hasMore }: { rows: readonly NewItem[]; hasMore: boolean },
  stallMs: number,
): void {
  const ends = { first_id: rows[0]?.id ?? null, last_id: rows.at(-1)?.id ?? null, has_more: hasMore };
  const data = rows.map(({ item }) => item).join(",");
  const text = `{"object":"list","data":[${data}],${JSON.stringify(ends).slice(1)}`;
  sendLargeJson(req, res, text, stallMs);
}
