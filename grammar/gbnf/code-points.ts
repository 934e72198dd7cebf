/** Code points, both ends inclusive. */
export type Range = readonly [from: number, to: number];

const LAST = 0x10ffff;
/** Surrogates are not characters: UTF-8 cannot encode them. */
const SURROGATES: Range = [0xd800, 0xdfff];

/** A set of Unicode characters: sorted ranges with gaps between them, without surrogates. */
export class CodePoints {
  static readonly all = new CodePoints([[0, LAST]]);
  readonly ranges: readonly Range[];

  constructor(ranges: readonly Range[]) {
    this.ranges = withoutSurrogates(merged(ranges));
  }

  /** The characters of a text. */
  static of(text: string): CodePoints {
    return new CodePoints([...text].map((char) => [char.codePointAt(0)!, char.codePointAt(0)!]));
  }

  get empty(): boolean {
    return this.ranges.length === 0;
  }

  has(point: number): boolean {
    return this.ranges.some(([from, to]) => from <= point && point <= to);
  }

  union(other: CodePoints): CodePoints {
    return new CodePoints([...this.ranges, ...other.ranges]);
  }

  complement(): CodePoints {
    const gaps: Range[] = [];
    let next = 0;
    for (const [from, to] of this.ranges) {
      if (from > next) gaps.push([next, from - 1]);
      next = to + 1;
    }
    if (next <= LAST) gaps.push([next, LAST]);
    return new CodePoints(gaps);
  }

  without(other: CodePoints): CodePoints {
    return this.complement().union(other).complement();
  }

  /** The set as a character class of GBNF. */
  get gbnf(): string {
    return `[${this.ranges.map(([from, to]) => (from === to ? escaped(from) : `${escaped(from)}-${escaped(to)}`)).join("")}]`;
  }
}

function merged(ranges: readonly Range[]): Range[] {
  const result: [number, number][] = [];
  for (const [from, to] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const last = result.at(-1);
    if (last !== undefined && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else result.push([from, to]);
  }
  return result;
}

function withoutSurrogates(ranges: readonly Range[]): Range[] {
  return ranges.flatMap(([from, to]): Range[] => {
    if (to < SURROGATES[0] || from > SURROGATES[1]) return [[from, to]];
    const parts: Range[] = [
      [from, SURROGATES[0] - 1],
      [SURROGATES[1] + 1, to],
    ];
    return parts.filter(([low, high]) => low <= high);
  });
}

/** A character as GBNF accepts it anywhere: a letter or digit unchanged, any other by its number. */
export function escaped(point: number): string {
  const char = String.fromCodePoint(point);
  if (/[0-9A-Za-z]/.test(char)) return char;
  const hex = point.toString(16).toUpperCase();
  if (point < 0x100) return `\\x${hex.padStart(2, "0")}`;
  return point < 0x10000 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}
