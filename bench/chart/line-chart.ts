import { ticks } from "./scale.ts";
import { drawing, element, text } from "./svg.ts";

export interface Line {
  label: string;
  /** Number of the colour; see svg.ts. */
  series: number;
  points: { x: number; y: number; min: number; max: number }[];
}

const WIDTH = 760;
const HEIGHT = 340;
const LEFT = 56;
const RIGHT = 150;
const TOP = 40;
const BOTTOM = 44;
const LABEL_PITCH = 15;

/** Lines over evenly spaced x values, y from 0, with a line from minimum to maximum at each point. */
export function lineChart(title: string, xLabel: string, lines: Line[], format: (value: number) => string): string {
  const xs = [...new Set(lines.flatMap(({ points }) => points.map(({ x }) => x)))].sort((a, b) => a - b);
  const marks = ticks(Math.max(...lines.flatMap(({ points }) => points.map(({ max }) => max))));
  const x = (value: number) => LEFT + (xs.indexOf(value) / Math.max(1, xs.length - 1)) * (WIDTH - LEFT - RIGHT);
  const y = (value: number) => HEIGHT - BOTTOM - (value / marks.at(-1)!) * (HEIGHT - TOP - BOTTOM);
  const shapes = [text(title, { x: 0, y: 18, class: "title" })];
  for (const mark of marks) {
    shapes.push(element("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(mark), y2: y(mark), class: "axis" }));
    shapes.push(text(format(mark), { x: LEFT - 8, y: y(mark) + 4, "text-anchor": "end" }));
  }
  for (const value of xs) shapes.push(text(String(value), { x: x(value), y: HEIGHT - 24, "text-anchor": "middle" }));
  shapes.push(text(xLabel, { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 6, "text-anchor": "middle" }));
  for (const { series, points } of lines) {
    const path = points.map((point) => `${x(point.x).toFixed(1)},${y(point.y).toFixed(1)}`).join(" ");
    shapes.push(element("polyline", { points: path, class: `s${series} line` }));
    for (const point of points) {
      const at = x(point.x);
      shapes.push(element("line", { x1: at, x2: at, y1: y(point.min), y2: y(point.max), class: "range" }));
      shapes.push(element("circle", { cx: at, cy: y(point.y), r: 3.5, class: `s${series} fill` }));
    }
  }
  const labels = apart(lines.map(({ points }) => y(points.at(-1)!.y)));
  for (const [i, { label, series }] of lines.entries()) {
    shapes.push(text(label, { x: WIDTH - RIGHT + 12, y: labels[i]! + 4, class: `s${series} fill` }));
  }
  return drawing(WIDTH, HEIGHT, title, shapes);
}

/** Moves labels down until none overlap, in their order from the top. */
function apart(wanted: number[]): number[] {
  const result = [...wanted];
  let free = Number.NEGATIVE_INFINITY;
  for (const index of [...wanted.keys()].sort((a, b) => wanted[a]! - wanted[b]!)) {
    result[index] = Math.max(wanted[index]!, free);
    free = result[index]! + LABEL_PITCH;
  }
  return result;
}
