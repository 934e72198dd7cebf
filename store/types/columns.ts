/** The columns of one table: snake_case in SQL, camelCase in rows. */
export interface Columns {
  /** `created_at AS createdAt, …` */
  select: string;
  /** `created_at, …` */
  names: string;
  /** `@createdAt, …`: parameters to bind by name. */
  values: string;
}

export function columns<Row>(keys: readonly (keyof Row & string)[]): Columns {
  const named = keys.map((key) => [columnName(key), key] as const);
  return {
    select: named.map(([column, key]) => `${column} AS ${key}`).join(", "),
    names: named.map(([column]) => column).join(", "),
    values: named.map(([, key]) => `@${key}`).join(", "),
  };
}

function columnName(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
