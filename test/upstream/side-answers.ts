import { crc32 } from "node:zlib";
import { fieldsOf, listOf, wordsOf } from "./asked.ts";
import type { Dialect, UpstreamKind } from "./dialect.ts";
import { type Misbehaviour, usagesOf } from "./misbehaviour.ts";

/** Numbers of an embedding vector. */
export const DIMENSIONS = 4;

/** A vector that follows from the text: equal texts have equal ones, of length 1. */
export function vectorOf(text: string): number[] {
  const raw = Array.from({ length: DIMENSIONS }, (_, at) => (crc32(`${at}${text}`) % 1000) + 1);
  const length = Math.hypot(...raw);
  return raw.map((one) => one / length);
}

/** The body of `/v1/embeddings`. */
export function embeddingsBody(body: unknown, model: string, wrong: Misbehaviour | null): unknown {
  const { input, encoding_format } = fieldsOf(body);
  const isTokens = Array.isArray(input) && input.every((one) => typeof one === "number");
  const texts = (Array.isArray(input) && !isTokens ? input : [input]).map((one) => String(one));
  const tokens = isTokens ? input.length : texts.reduce((sum, text) => sum + wordsOf(text).length, 0);
  const data = texts.map((text, index) => {
    const vector = vectorOf(text);
    const bytes = Buffer.from(new Float32Array(vector).buffer).toString("base64");
    return { object: "embedding", index, embedding: encoding_format === "base64" ? bytes : vector };
  });
  const usage = { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens };
  return { object: "list", data, model, usage: usagesOf(usage, wrong).at(-1) };
}

/** The share of the query's words that a document has. */
export function relevanceOf(query: string, document: string): number {
  const wanted = wordsOf(query).map((word) => word.trim());
  const found = new Set(wordsOf(document).map((word) => word.trim()));
  return wanted.filter((word) => found.has(word)).length / Math.max(1, wanted.length);
}

/** The body of `/v1/rerank`: SGLang answers with the bare list. */
export function rerankBody(kind: UpstreamKind, body: unknown, model: string): unknown {
  const { query, documents, top_n } = fieldsOf(body);
  const texts = listOf(documents).map(String);
  const scored = texts.map((text, index) => ({ index, text, score: relevanceOf(String(query), text) }));
  const best = scored.sort((a, b) => b.score - a.score).slice(0, typeof top_n === "number" ? top_n : scored.length);
  if (kind === "sglang") return best.map(({ index, text, score }) => ({ score, document: text, index, meta_info: {} }));
  const results = best.map(({ index, text, score }) => ({ index, relevance_score: score, document: { text } }));
  const tokens = texts.reduce((sum, text) => sum + wordsOf(text).length + wordsOf(String(query)).length, 0);
  return { id: "rerank-1", object: "list", model, usage: { prompt_tokens: tokens, total_tokens: tokens }, results };
}

/** The token that a word is. */
export function tokenOf(word: string): number {
  return crc32(word) % 50_000;
}

/** The body of the engine's tokenizer, for `prompt`, `content`, `inputs` or `messages`. */
export function tokenizeBody(dialect: Dialect, body: unknown, context: number): unknown {
  const { prompt, content, inputs, messages } = fieldsOf(body);
  const text = messages === undefined ? String(prompt ?? content ?? inputs ?? "") : textOf(messages);
  const words = wordsOf(text);
  return dialect.tokenize?.answer(words.map(tokenOf), words, context);
}

/** The rendering of llama-server's `/apply-template`: a line for each message. */
export function textOf(messages: unknown): string {
  return listOf(messages)
    .map((message) => `${String(fieldsOf(message).role)}: ${String(fieldsOf(message).content ?? "")}`)
    .join("\n");
}
