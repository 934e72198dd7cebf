/** Characters that one read of large rows returns, except for a single row: 1 MiB is read and copied in a few milliseconds. */
export const READ_CHARACTERS = 2 ** 20;

/** Rows from the front until their texts have READ_CHARACTERS; one row at least. `more`: rows are left. */
export function boundedRead<Row>(
  rows: Iterable<Row>,
  lengthOf: (row: Row) => number,
  limit = Number.POSITIVE_INFINITY,
): { rows: Row[]; more: boolean } {
  const read: Row[] = [];
  let characters = 0;
  for (const row of rows) {
    if (read.length === limit || characters > READ_CHARACTERS) return { rows: read, more: true };
    characters += lengthOf(row);
    read.push(row);
  }
  return { rows: read, more: false };
}
