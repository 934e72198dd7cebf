import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type OpenAI from "openai";
import { toFile } from "openai";
import { onTestFinished } from "vitest";
import { until } from "../api/until.ts";

/** A data directory that is removed after the test. */
export function freshDataDir(): string {
  const folder = mkdtempSync(join(tmpdir(), "nightshift-batch-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface Request {
  custom_id: string;
  method: string;
  url: string;
  body: Record<string, unknown>;
}

export function chatLine(id: string, content: string, more: Record<string, unknown> = {}): Request {
  const messages = [{ role: "user", content }];
  const body = { model: "demo", messages, max_tokens: 8, temperature: 0, ...more };
  return { custom_id: id, method: "POST", url: "/v1/chat/completions", body };
}

export function jsonl(lines: readonly unknown[]): string {
  return lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join("");
}

export async function uploadText(client: OpenAI, text: string | Uint8Array): Promise<string> {
  const content = typeof text === "string" ? Buffer.from(text) : text;
  const file = await client.files.create({ file: await toFile(content, "in.jsonl"), purpose: "batch" });
  return file.id;
}

export async function submit(
  client: OpenAI,
  text: string | Uint8Array,
  more: Partial<OpenAI.BatchCreateParams> = {},
): Promise<OpenAI.Batch> {
  const input_file_id = await uploadText(client, text);
  return client.batches.create({
    input_file_id,
    endpoint: "/v1/chat/completions",
    completion_window: "24h",
    ...more,
  });
}

const TERMINAL = ["completed", "failed", "expired", "cancelled"];

/** Resolves with the batch once its status is terminal, or `status` if given. */
export async function reaches(client: OpenAI, id: string, status: string | null = null): Promise<OpenAI.Batch> {
  let batch = await client.batches.retrieve(id);
  const there = () => (status === null ? TERMINAL.includes(batch.status) : batch.status === status);
  await until(`batch ${id} to be ${status ?? "over"}`, async () => {
    if (!there()) batch = await client.batches.retrieve(id);
    return there();
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}; it is ${JSON.stringify(batch)}`);
  });
  return batch;
}

export interface ResultLine {
  id: string;
  custom_id: string;
  response: { status_code: number; request_id: string; body: OpenAI.ChatCompletion } | null;
  error: { code: string; message: string } | null;
}

export async function resultLines(client: OpenAI, fileId: string | null | undefined): Promise<ResultLine[]> {
  if (fileId == null) return [];
  const text = await (await client.files.content(fileId)).text();
  if (!text.endsWith("\n")) throw new Error("The file does not end with a line end");
  return text
    .slice(0, -1)
    .split("\n")
    .map((line): ResultLine => JSON.parse(line));
}

/** Both files of a terminal batch. */
export async function results(client: OpenAI, batch: OpenAI.Batch) {
  const output = await resultLines(client, batch.output_file_id);
  const errors = await resultLines(client, batch.error_file_id);
  return { output, errors, all: [...output, ...errors] };
}

export function ids(lines: readonly { custom_id: string }[]): string[] {
  return lines.map(({ custom_id }) => custom_id).sort();
}
