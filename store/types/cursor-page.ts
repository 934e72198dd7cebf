/** One page of a list. "unknown_cursor": the cursor names no row of this owner. */
export type Page<Row> = { rows: Row[]; hasMore: boolean } | "unknown_cursor";

/** `rows` was read with one row beyond the limit, to know whether there are more. */
export function page<Row>(rows: Row[], limit: number): Page<Row> {
  return { rows: rows.slice(0, limit), hasMore: rows.length > limit };
}
