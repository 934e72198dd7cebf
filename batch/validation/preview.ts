import { open } from "node:fs/promises";
import { ApiError } from "../../openapi/api-error.ts";
import { parseJson } from "../../openapi/json/json-text.ts";
import type { BodyCheck, CheckedBody } from "./body-check.ts";

/** The estimated needs of an input file, extrapolated from its beginning. */
export interface Preview {
  /** The own name of the model that the first line means. */
  model: string;
  /** Tokens as validation estimates them. */
  estimatedTokens: number;
  promptTokens: number;
  answerTokens: number;
  /** True when every line was read. */
  whole: boolean;
}

export interface PreviewRules {
  check: BodyCheck;
  /** The own name of the model that a client means by a name; null for none. */
  named: (name: string) => string | null;
  /** Tokens of an answer of this model. */
  usualAnswer: (model: string) => number;
}

/** Bytes of the file that are read. */
const SAMPLE_BYTES = 64 * 1024;

/**
 * Reads the first lines of an input file, up to 64 KiB, and extrapolates to its size. Lines that are not valid are skipped:
 * validation reports their errors. Null without a valid line.
 */
export async function preview(path: string, fileBytes: number, rules: PreviewRules): Promise<Preview | null> {
  const { text, bytes } = await beginning(path, fileBytes);
  const bodies = text.split("\n").flatMap((line) => read(line, rules) ?? []);
  const [first] = bodies;
  if (first === undefined || bytes === 0) return null;
  const usual = rules.usualAnswer(first.model);
  const scale = fileBytes / bytes;
  const sum = (count: (body: CheckedBody) => number) =>
    Math.round(scale * bodies.reduce((total, { checked }) => total + count(checked), 0));
  return {
    model: first.model,
    estimatedTokens: sum(({ estimatedTokens }) => estimatedTokens),
    promptTokens: sum(({ promptTokens }) => promptTokens),
    answerTokens: sum(({ choices, maxTokens }) => choices * Math.min(usual, maxTokens ?? usual)),
    whole: bytes === fileBytes,
  };
}

/** Whole lines. */
async function beginning(path: string, fileBytes: number): Promise<{ text: string; bytes: number }> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(SAMPLE_BYTES, fileBytes)));
    const bytes = bytesRead === fileBytes ? bytesRead : buffer.lastIndexOf("\n", bytesRead) + 1;
    return { text: buffer.toString("utf8", 0, bytes), bytes };
  } finally {
    await file.close();
  }
}

/** Null for a line that validation would refuse. */
function read(line: string, { check, named }: PreviewRules): { model: string; checked: CheckedBody } | null {
  if (line.trim() === "") return null;
  try {
    const { body }: { body?: unknown } = Object(parseJson(Buffer.from(line)));
    const { model: name }: { model?: unknown } = Object(body);
    const model = typeof name === "string" ? named(name) : null;
    return model === null ? null : { model, checked: check(body) };
  } catch (error) {
    if (error instanceof ApiError) return null;
    throw error;
  }
}
