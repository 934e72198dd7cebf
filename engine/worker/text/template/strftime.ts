const MONTHS = "January February March April May June July August September October November December".split(" ");
const DAYS = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(" ");

/**
 * Python's `strftime` in local time and the C locale (English names), as far as chat templates use it; `%-d` leaves
 * the leading zero out. An unknown directive stays as it is.
 */
export function strftime(date: Date, format: string): string {
  return format.replace(/%(-?)([a-zA-Z%])/g, (whole, bare: string, directive: string) => {
    const value = directiveValue(date, directive);
    if (value === undefined) return whole;
    return bare === "-" ? value.replace(/^0+(?=\d)/, "") : value;
  });
}

function directiveValue(date: Date, directive: string): string | undefined {
  switch (directive) {
    case "Y":
      return String(date.getFullYear());
    case "y":
      return two(date.getFullYear() % 100);
    case "m":
      return two(date.getMonth() + 1);
    case "B":
      return MONTHS[date.getMonth()]!;
    case "b":
      return MONTHS[date.getMonth()]!.slice(0, 3);
    case "d":
      return two(date.getDate());
    case "A":
      return DAYS[date.getDay()]!;
    case "a":
      return DAYS[date.getDay()]!.slice(0, 3);
    case "H":
      return two(date.getHours());
    case "I":
      return two(date.getHours() % 12 || 12);
    case "p":
      return date.getHours() < 12 ? "AM" : "PM";
    case "M":
      return two(date.getMinutes());
    case "S":
      return two(date.getSeconds());
    case "F":
      return strftime(date, "%Y-%m-%d");
    case "T":
      return strftime(date, "%H:%M:%S");
    case "%":
      return "%";
    default:
      return undefined;
  }
}

function two(number: number): string {
  return String(number).padStart(2, "0");
}
