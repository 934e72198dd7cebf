/** Formats times in one time zone. Instances are kept, because making a format costs more than a decision. */
export class LocalTime {
  readonly #timezone: string;
  readonly #date: Intl.DateTimeFormat;
  readonly #weekday: Intl.DateTimeFormat;
  readonly #time: Intl.DateTimeFormat;

  /** `timezone` is an IANA name; an unknown one is a RangeError. */
  constructor(timezone: string) {
    const format = (options: Intl.DateTimeFormatOptions) =>
      new Intl.DateTimeFormat("en-GB", { timeZone: timezone, ...options });
    this.#timezone = timezone;
    this.#date = format({ dateStyle: "short" });
    this.#weekday = format({ weekday: "short" });
    this.#time = format({ hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  }

  /** `19:00 Europe/Berlin`, or `Mon 19:00 Europe/Berlin` when that is not today. */
  text(atMs: number, nowMs: number): string {
    const today = this.#date.format(atMs) === this.#date.format(nowMs);
    return `${today ? "" : `${this.#weekday.format(atMs)} `}${this.#time.format(atMs)} ${this.#timezone}`;
  }
}
