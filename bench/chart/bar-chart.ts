import { drawing, element, text } from "./svg.ts";

export interface Bar {
  label: string;
  /** Number of the colour; see svg.ts. */
  series: number;
  /** Drawn pale, beside the bar that it is compared with. */
  pale?: boolean;
  value: number;
  min: number;
  max: number;
}

export interface BarPanel {
  title: string;
  groups: { label: string; bars: Bar[] }[];
}

const WIDTH = 760;
const LEFT = 240;
const RIGHT = 70;
const BAR = 14;
const PITCH = 18;
const GROUP_GAP = 10;
const TITLE = 34;

/**
 * Horizontal bars in panels, one below the other, each panel with its own scale from 0. Every bar has its value, and a
 * line from the minimum to the maximum of its repeats. NaN has no bar.
 */
export function barChart(label: string, panels: BarPanel[], format: (value: number) => string): string {
  const shapes: string[] = [];
  let y = 8;
  for (const { title, groups } of panels) {
    y += TITLE;
    shapes.push(text(title, { x: 0, y: y - 14, class: "title" }));
    const most = Math.max(...groups.flatMap(({ bars }) => bars.map(({ max }) => (Number.isFinite(max) ? max : 0))));
    const x = (value: number) => LEFT + (most > 0 ? value / most : 0) * (WIDTH - LEFT - RIGHT);
    const top = y;
    for (const group of groups) {
      shapes.push(text(group.label, { x: 0, y: y + BAR - 3 }));
      for (const bar of group.bars) {
        shapes.push(
          text(bar.label, { x: LEFT - 8, y: y + BAR - 3, "text-anchor": "end" }),
          ...drawBar(bar, x, y, format),
        );
        y += PITCH;
      }
      y += GROUP_GAP;
    }
    shapes.push(element("line", { x1: LEFT, x2: LEFT, y1: top - 3, y2: y - GROUP_GAP, class: "axis" }));
  }
  return drawing(WIDTH, y, label, shapes);
}

function drawBar(bar: Bar, x: (value: number) => number, y: number, format: (value: number) => string): string[] {
  if (!Number.isFinite(bar.value)) return [text("–", { x: LEFT + 6, y: y + BAR - 3, class: "value" })];
  const kind = `s${bar.series} ${bar.pale ? "pale" : "fill"}`;
  const middle = y + BAR / 2;
  const width = Math.max(1, x(bar.value) - LEFT);
  return [
    element("rect", { x: LEFT, y, width, height: BAR, rx: 2, class: kind }),
    element("line", { x1: x(bar.min), x2: x(bar.max), y1: middle, y2: middle, class: "range" }),
    text(format(bar.value), { x: x(bar.max) + 6, y: y + BAR - 3, class: "value" }),
  ];
}
