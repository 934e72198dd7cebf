import { covers, DAY_MINUTES, type NightWindow } from "./window-parser.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Milliseconds within which a window opens. Two weeks: one opening may fall into the hour that summer time skips. */
const HORIZON = 14 * DAY;
/** Milliseconds that one search covers, so that a call each second does not search the days anew each second. */
const SEARCHED = HORIZON + 4 * DAY;

/** A span of time that is wholly inside or wholly outside the windows. Unix milliseconds, `to` excluded. */
export interface Span {
  from: number;
  to: number;
  inside: boolean;
}

/**
 * Night windows in one time zone. Local time decides, so a window keeps its local hours all year: a window over a change
 * of the clock is an hour shorter or longer, a window inside the skipped hour is left out that day, and a window that ends
 * inside the doubled hour opens again in it. Local time has whole minutes.
 */
export class WindowSchedule {
  readonly #windows: readonly NightWindow[];
  readonly #edges: readonly number[];
  readonly #offsets: Intl.DateTimeFormat;
  #searched: Span[] = [];

  /** `timezone` is an IANA name; an unknown one is a RangeError. */
  constructor(windows: readonly NightWindow[], timezone: string) {
    this.#windows = windows;
    this.#edges = [...new Set(windows.flatMap(({ start, end }) => [start, end % DAY_MINUTES]))];
    this.#offsets = new Intl.DateTimeFormat("en-US", { timeZone: timezone, timeZoneName: "longOffset" });
  }

  inside(atMs: number): boolean {
    return this.#insideAt(atMs, this.#offset(atMs));
  }

  /** Time at which a window next opens or closes, Unix milliseconds; null for never. */
  nextChange(atMs: number): number | null {
    const spans = this.#spans(atMs, atMs + HORIZON);
    const now = spans.findIndex(({ to }) => to > atMs);
    return spans[now + 1]?.from ?? null;
  }

  /** The spans of [fromMs, toMs), in order. */
  spans(fromMs: number, toMs: number): Span[] {
    return this.#spans(fromMs, toMs)
      .filter(({ from, to }) => to > fromMs && from < toMs)
      .map(({ from, to, inside }) => ({ from: Math.max(from, fromMs), to: Math.min(to, toMs), inside }));
  }

  #spans(fromMs: number, toMs: number): Span[] {
    const first = this.#searched[0];
    if (first === undefined || first.from > fromMs || this.#searched.at(-1)!.to < toMs) {
      const from = Math.floor(fromMs / HOUR) * HOUR;
      this.#searched = this.#search(from, Math.max(toMs, from + SEARCHED));
    }
    return this.#searched;
  }

  #search(from: number, to: number): Span[] {
    const spans: Span[] = [];
    let open: Span = { from, to, inside: this.inside(from) };
    for (let hour = from; hour < to; hour += HOUR) {
      for (const at of this.#candidates(hour)) {
        const inside = this.inside(at);
        if (inside === open.inside || at <= open.from) continue;
        spans.push({ ...open, to: at });
        open = { from: at, to, inside };
      }
    }
    return [...spans, { ...open, to: Math.max(to, open.from + 1) }];
  }

  /** Moments of an hour, its end included, at which a window may open or close, in order. `hour` is a whole hour of UTC. */
  #candidates(hour: number): number[] {
    const offset = this.#offset(hour);
    if (offset !== this.#offset(hour + HOUR)) return Array.from({ length: 61 }, (_, minute) => hour + minute * MINUTE);
    const local = minuteOf(hour + offset);
    return this.#edges
      .map((edge) => hour + ((edge - local + DAY_MINUTES) % DAY_MINUTES) * MINUTE)
      .filter((at) => at < hour + HOUR)
      .sort((a, b) => a - b);
  }

  #insideAt(atMs: number, offset: number): boolean {
    const local = atMs + offset;
    // 1970-01-01 was a Thursday.
    const day = (((Math.floor(local / DAY) + 4) % 7) + 7) % 7;
    return this.#windows.some((window) => covers(window, day, minuteOf(local)));
  }

  /** Local time minus UTC, milliseconds. */
  #offset(atMs: number): number {
    const [, sign, hours, minutes] = /GMT([+-])(\d\d):(\d\d)/.exec(this.#offsets.format(atMs)) ?? [];
    return sign === undefined ? 0 : Number(`${sign}1`) * (Number(hours) * HOUR + Number(minutes) * MINUTE);
  }
}

function minuteOf(localMs: number): number {
  return ((Math.floor(localMs / MINUTE) % DAY_MINUTES) + DAY_MINUTES) % DAY_MINUTES;
}
