import { strftime } from "./strftime.ts";

/**
 * The variables with today's date that llama-server gives to templates: Llama 3.1 and 3.3 write a date of 2024 without them,
 * FireFunction fails. They are dates without a time, which would change a prompt with every request.
 */
export function templateDates(now: Date): { date_string: string; datetime: string } {
  return { date_string: strftime(now, "%d %b %Y"), datetime: strftime(now, "%b %d %Y") };
}
