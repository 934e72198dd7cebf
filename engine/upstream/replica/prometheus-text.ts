/** Bounds of one scrape; what lies beyond is not read. An engine has some hundred series. */
export const MAX_METRICS_BYTES = 4_194_304;
export const MAX_LINES = 50_000;
const MAX_LINE_CHARS = 8192;
const MAX_LABELS = 64;

/** One line of a scrape. */
export interface Sample {
  name: string;
  labels: Readonly<Record<string, string>>;
  /** Finite: lines with `NaN` or an infinity are left out, as they are no counts. */
  value: number;
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(,\s*|(?=\}))/y;
/** The value, and a timestamp or an exemplar behind it. */
const VALUE = /^\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?:\s|$)/;

/**
 * Samples of the given names in the Prometheus text format; lines of others are skipped unread, and bad lines too: one
 * broken series must not hide the rest. Never throws.
 */
export function readSamples(text: string, names: ReadonlySet<string>): Sample[] {
  const samples: Sample[] = [];
  const end = Math.min(text.length, MAX_METRICS_BYTES);
  for (let from = 0, lines = 0; from < end && lines < MAX_LINES; lines++) {
    const newline = text.indexOf("\n", from);
    const to = newline === -1 || newline > end ? end : newline;
    const sample = to - from > MAX_LINE_CHARS ? null : readLine(text.slice(from, to), names);
    if (sample !== null) samples.push(sample);
    from = to + 1;
  }
  return samples;
}

function readLine(line: string, names: ReadonlySet<string>): Sample | null {
  const name = NAME.exec(line)?.[0];
  if (name === undefined || !names.has(name)) return null;
  const read = readLabels(line, name.length);
  if (read === null) return null;
  const value = VALUE.exec(line.slice(read.end))?.[1];
  if (value === undefined || !Number.isFinite(Number(value))) return null;
  return { name, labels: read.labels, value: Number(value) };
}

/** The labels from `at` on, if there are any, and the place behind them; null when they are malformed. */
function readLabels(line: string, at: number): { labels: Record<string, string>; end: number } | null {
  const labels: Record<string, string> = Object.create(null);
  let end = at;
  while (line[end] === " " || line[end] === "\t") end++;
  if (line[end] !== "{") return { labels, end };
  end++;
  for (let count = 0; ; count++) {
    while (line[end] === " ") end++;
    if (line[end] === "}") return { labels, end: end + 1 };
    LABEL.lastIndex = end;
    const [all, label, value] = LABEL.exec(line) ?? [];
    if (all === undefined || count === MAX_LABELS) return null;
    labels[label!] = value!.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === "n" ? "\n" : escaped));
    end += all.length;
  }
}
