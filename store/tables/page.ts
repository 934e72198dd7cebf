/** One page of a list, or the word for a cursor that names no row of this owner: the caller answers it with 400. */
export type Page<Row> = { rows: Row[]; hasMore: boolean } | "unknown_cursor";

/** `rows` was read with one row more than the limit, which only tells that there is more. */
export function page<Row>(rows: Row[], limit: number): Page<Row> {
  return { rows: rows.slice(0, limit), hasMore: rows.length > limit };
}
