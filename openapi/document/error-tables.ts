import { ERRORS } from "../errors.ts";

/** The table of docs/api.md, made from the catalogue. */
export function errorTable(): string {
  const rows = Object.values(ERRORS).map(({ status, code, codeFrom, type, retry, meaning }) => {
    return [String(status), codeFrom ?? (code === null ? "null" : `\`${code}\``), `\`${type}\``, retry, meaning];
  });
  return markdownTable(["status", "code", "type", "retry", "meaning"], rows);
}

/** A table of docs/batches.md: codes with their meanings. */
export function codeTable(heading: string, meanings: Readonly<Record<string, string>>): string {
  return markdownTable(
    [heading, "meaning"],
    Object.entries(meanings).map(([code, meaning]) => [`\`${code}\``, meaning]),
  );
}

/** The page with its generated block of this name replaced. */
export function withBlock(page: string, name: string, text: string): string {
  const begin = `<!-- ${name} -->\n`;
  const end = `<!-- end of ${name} -->\n`;
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`The page has no block '${name}'`);
  return page.slice(0, from + begin.length) + text + page.slice(to);
}

function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}
