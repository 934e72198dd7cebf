import type { Random } from "../base/random.ts";

/** Letters of a word, and the space after it. */
const WORD = 8;

/** A batch file with lines of `bytes` bytes: the same system message, and random words. */
export function batchFile(model: string, { lines, bytes }: { lines: number; bytes: number }, random: Random): Blob {
  const parts: string[] = [];
  for (let i = 0; i < lines; i++) {
    const line = (content: string) =>
      JSON.stringify({
        custom_id: `line-${random.integer(0, 2 ** 31)}-${i}`,
        method: "POST",
        url: "/v1/chat/completions",
        body: {
          model,
          messages: [
            { role: "system", content: "Answer in one word." },
            { role: "user", content },
          ],
          max_tokens: 8,
        },
      });
    const words = Array.from({ length: Math.ceil(bytes / WORD) }, () => random.integer(0, 36 ** 7).toString(36));
    const text = words.map((word) => word.padStart(WORD - 1, "0")).join(" ");
    const rest = Math.max(1, bytes - 1 - line("").length);
    parts.push(`${line(text.slice(0, rest))}\n`);
  }
  return new Blob([parts.join("")]);
}
