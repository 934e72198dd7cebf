export type Cell = string | number | boolean | null;

/** One column of a table: its name, and what stands in it for a row. */
export type Column<Row> = readonly [name: string, cell: (row: Row) => Cell];

/** What a spreadsheet takes for the beginning of a formula. */
const FORMULA = /^[=+\-@\t\r]/;
const NEEDS_QUOTES = /[",\r\n]/;

/**
 * Rows as CSV after RFC 4180: a header, CRLF after every line, quotes doubled. Null is an empty cell. A text that a
 * spreadsheet would run as a formula (names are chosen by users) gets an apostrophe before it, which spreadsheets hide and
 * OWASP advises; numbers are written as they are, for a minus in front of one is a minus.
 */
export function csvText<Row>(columns: readonly Column<Row>[], rows: Iterable<Row>): string {
  let text = line(columns.map(([name]) => name));
  for (const row of rows) text += line(columns.map(([, cell]) => cell(row)));
  return text;
}

function line(cells: readonly Cell[]): string {
  return `${cells.map(written).join(",")}\r\n`;
}

function written(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell !== "string") return String(cell);
  const safe = FORMULA.test(cell) ? `'${cell}` : cell;
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
