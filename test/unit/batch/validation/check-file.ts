import type { ValidateRules } from "../../../../batch/validation/line-validator.ts";
import { validateFile } from "../../../../batch/validation/validate-file.ts";
import { DEFAULT_REQUEST_LIMITS } from "../../../../openapi/request-limits.ts";
import type { NewLines } from "../../../../store/types/line-row.ts";

/** Two models, of which the bounds of the first are known. */
export const RULES: ValidateRules = {
  endpoint: "/v1/chat/completions",
  limits: DEFAULT_REQUEST_LIMITS,
  models: ["demo", "other"],
  names: { aliases: { "gpt-4o": "demo", forbidden: "hidden" }, otherwise: null },
  bounds: new Map([
    [
      "demo",
      {
        vocabulary: 1000,
        context: 50,
        generates: true,
        infill: false,
        embedding: { width: 4, context: 50 },
        upstream: null,
      },
    ],
  ]),
  maxLines: 50_000,
  maxLineBytes: 1024 * 1024,
  maxErrors: 3,
};

export async function* inChunks(bytes: Uint8Array, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** Validates a file; returns the lines that it emitted too. */
export async function check(text: string | Uint8Array, rules: Partial<ValidateRules> = {}, chunk = 64 * 1024) {
  const lines: { number: number; customId: string; offset: number; length: number; estimatedTokens: number }[] = [];
  const take = async (some: NewLines) => {
    some.customIds.forEach((customId, i) => {
      const [number, offset] = [some.numbers[i]!, some.offsets[i]!];
      lines.push({ number, customId, offset, length: some.lengths[i]!, estimatedTokens: some.estimatedTokens[i]! });
    });
  };
  const outcome = await validateFile(inChunks(Buffer.from(text), chunk), { ...RULES, ...rules }, take, async () => {});
  return { outcome, lines };
}

export async function errorsOf(text: string | Uint8Array, rules: Partial<ValidateRules> = {}) {
  const { outcome } = await check(text, rules);
  return outcome.valid ? [] : outcome.errors;
}
