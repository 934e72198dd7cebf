/** 1234567 → "1,234,567". */
export function grouped(count: number): string {
  return count.toLocaleString("en-US");
}

/** Three significant digits. */
export function short(value: number): string {
  return value >= 100 ? grouped(Math.round(value)) : String(Number(value.toPrecision(3)));
}
