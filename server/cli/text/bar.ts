const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** A bar of `share` × `width` characters, rounded to an eighth of a character. */
export function bar(share: number, width: number): string {
  const eighths = Math.round(Math.min(1, Math.max(0, share)) * width * 8);
  return "█".repeat(eighths >> 3) + EIGHTHS[eighths & 7];
}
