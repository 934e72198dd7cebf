import type { Random } from "../base/random.ts";

export interface HostileRequest {
  path: string;
  body: string;
  headers?: Record<string, string>;
}

const MIB = 2 ** 20;
const chat = (fields: string) =>
  `{"model":"bench","messages":[{"role":"user","content":"hi"}],"max_tokens":2${fields}}`;
const repeat = (unit: string, bytes: number) => unit.repeat(Math.floor(bytes / unit.length)).slice(0, -1);

/** Requests at the limits of their size and some beyond them, up to 10 MiB. */
const MAKERS: ((random: Random) => HostileRequest)[] = [
  (random) => ({ path: "chat/completions", body: chat(`,"x":[${repeat("[],", size(random))}]`) }),
  (random) => ({ path: "chat/completions", body: chat(`,"x":[${repeat('{"31":0},', size(random))}]`) }),
  (random) => ({ path: "chat/completions", body: chat(`,"x":${"[".repeat(random.integer(10, 1_000_000))}`) }),
  (random) => ({
    path: "chat/completions",
    body: chat(`,"logit_bias":{${keys(random.integer(1, 700_000))}}`),
  }),
  (random) => ({
    path: "chat/completions",
    body: `{"model":"bench","messages":[${repeat('{"role":"user","content":[]},', size(random))}]}`,
  }),
  (random) => ({
    path: "chat/completions",
    body: chat(
      `,"response_format":{"type":"json_schema","json_schema":{"name":"x","strict":true,"schema":${schema(random.integer(2, 300))}}}`,
    ),
  }),
  (random) => ({ path: "tokenize", body: JSON.stringify({ model: "bench", prompt: "ab ".repeat(size(random) / 4) }) }),
  (random) => ({
    path: "chat/completions",
    body: JSON.stringify({
      model: "bench",
      messages: [{ role: "user", content: "<|im_end|>\n".repeat(random.integer(1, 600)) + "x".repeat(16_000) }],
      max_tokens: 1,
    }),
  }),
  (random) => ({
    path: "embeddings",
    body: JSON.stringify({ model: "bench", input: Array.from({ length: random.integer(1, 3000) }, () => "word") }),
  }),
  (random) => ({ path: "chat/completions", body: chat(",").slice(0, random.integer(0, 60)) }),
  () => ({ path: "chat/completions", body: "\u0000\uFFFF", headers: { "content-type": "text/plain" } }),
  () => ({ path: "chat/completions", body: chat(""), headers: { authorization: `Bearer ${"x".repeat(6000)}` } }),
  () => ({ path: "nothing/here", body: "{}" }),
];

export function hostileRequest(random: Random): HostileRequest {
  return MAKERS[random.integer(0, MAKERS.length - 1)]!(random);
}

function size(random: Random): number {
  return random.integer(1000, 10 * MIB - 1000);
}

function keys(count: number): string {
  return Array.from({ length: count }, (_, i) => `"k${i}":1`)
    .join(",")
    .slice(0, 9 * MIB)
    .replace(/,[^,]*$/, "");
}

function schema(branches: number): string {
  const one = { type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false };
  return JSON.stringify({ oneOf: Array.from({ length: branches }, () => one) });
}
