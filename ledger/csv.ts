export type Cell = string | number | boolean | null;

/** One column of a table: its name and the cell of a row. */
export type Column<Row> = readonly [name: string, cell: (row: Row) => Cell];

/** Beginnings that a spreadsheet treats as a formula. */
const FORMULA = /^[=+\-@\t\r]/;
const NEEDS_QUOTES = /[",\r\n]/;

/**
 * Rows as CSV (RFC 4180): a header, CRLF after every line, quotes doubled. Null is an empty cell. Users choose names,
 * so a text that a spreadsheet would run as a formula gets a leading apostrophe, which spreadsheets hide and OWASP
 * recommends. Numbers are unchanged, as a leading minus there is a sign.
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
