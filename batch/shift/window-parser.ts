/** A span of local time that repeats weekly. It begins on each of `days`. */
export interface NightWindow {
  /** 0 is Sunday. */
  days: ReadonlySet<number>;
  /** Minutes since local midnight, 0..1439. */
  start: number;
  /** Minutes since local midnight, 1..1440; at or before `start` it is the next day's. */
  end: number;
}

export const DAY_MINUTES = 1440;

const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const FORM = /^(?:([a-z,\s-]+)\s)?\s*(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})$/;

/**
 * Parses `Mon-Fri 19:00-07:00`, `Sat,Sun 00:00-24:00` or `19:00-07:00` (every day). The days are those on which the window
 * begins; a window that ends at or before its start ends on the next day. Throws a RangeError with the reason.
 */
export function parseNightWindow(text: string): NightWindow {
  const parts = FORM.exec(text.trim().toLowerCase());
  if (parts === null) throw wrong(text, 'is not of the form "Mon-Fri 19:00-07:00"');
  const days = parts[1] === undefined ? new Set(DAYS.keys()) : readDays(text, parts[1]);
  const start = readTime(text, parts[2]!, parts[3]!);
  const end = readTime(text, parts[4]!, parts[5]!);
  if (start === DAY_MINUTES) throw wrong(text, "begins at 24:00: write 00:00 of the next day");
  if (start === end) throw wrong(text, "is empty: a whole day is 00:00-24:00");
  return { days, start, end: end === 0 ? DAY_MINUTES : end };
}

/** Whether the window covers this minute of local time. */
export function covers({ days, start, end }: NightWindow, day: number, minute: number): boolean {
  if (start < end) return days.has(day) && minute >= start && minute < end;
  return (days.has(day) && minute >= start) || (days.has((day + 6) % 7) && minute < end);
}

function readDays(text: string, list: string): Set<number> {
  const days = new Set<number>();
  for (const item of list.split(",")) {
    const [first, last = first, ...more] = item.split("-").map((name) => DAYS.indexOf(name.trim()));
    if (first === undefined || first < 0 || last === undefined || last < 0 || more.length > 0) {
      throw wrong(text, `has "${item.trim()}" where days such as Mon, Sat,Sun or Mon-Fri are expected`);
    }
    // Fri-Mon crosses the end of the week.
    for (let day = first; ; day = (day + 1) % 7) {
      days.add(day);
      if (day === last) break;
    }
  }
  return days;
}

function readTime(text: string, hours: string, minutes: string): number {
  const minute = Number(hours) * 60 + Number(minutes);
  if (Number(minutes) > 59 || minute > DAY_MINUTES) throw wrong(text, `has no time ${hours}:${minutes} in its day`);
  return minute;
}

function wrong(text: string, why: string): RangeError {
  return new RangeError(`the window "${text}" ${why}`);
}
