import { median, type Spread, spread } from "../base/statistics.ts";
import { figure, spreadText } from "../base/table.ts";
import { json } from "../target/call.ts";
import { total } from "../target/counters.ts";
import { ownCpuMs } from "../target/cpu-time.ts";
import { interleave } from "../target/rounds.ts";
import type { Target } from "../target/target.ts";

export interface DialectPlan {
  /** Concurrent streams. */
  streams: number;
  /** Requests of each stream, one after the other. */
  requests: number;
  /** Most tokens of each answer. */
  tokens: number;
  repeats: number;
}

const PROMPT = "Count from 1 to 99.";

/** The same request in each dialect, at its path below the base URL. */
const BODIES = {
  chat: (max: number) => ({ path: "chat/completions", messages: [user()], max_tokens: max }),
  responses: (max: number) => ({ path: "responses", input: PROMPT, store: false, max_output_tokens: max }),
  messages: (max: number) => ({ path: "messages", messages: [user()], max_tokens: max }),
  ollama: (max: number) => ({ path: "/api/chat", messages: [user()], options: { num_predict: max, temperature: 0 } }),
} as const;
export const DIALECTS = Object.keys(BODIES) as (keyof typeof BODIES)[];
export type DialectName = keyof typeof BODIES;

/** One repeat of one dialect. */
interface Round {
  tokens: number;
  /** Steps of the engine. */
  steps: number;
  /** CPU time of the server's process, without its engines. */
  cpuMs: number;
  /** Bytes of the streams. */
  bytes: number;
}

export interface DialectResult {
  dialect: DialectName;
  rounds: Round[];
}

/** The same streams in each dialect, interleaved; the first round of each only warms up. `pid` is the server's process (Linux). */
export async function measureDialects(
  target: Target,
  pid: number,
  dialects: readonly DialectName[],
  plan: DialectPlan,
): Promise<DialectResult[]> {
  const rounds = await interleave(dialects, plan.repeats + 1, (dialect) => round(target, pid, dialect, plan));
  return dialects.map((dialect, i) => ({ dialect, rounds: rounds[i]!.slice(1) }));
}

async function round(target: Target, pid: number, dialect: DialectName, plan: DialectPlan): Promise<Round> {
  const { path, ...body } = BODIES[dialect](plan.tokens);
  const before = await readCounts(target, pid);
  const init = json({ model: target.model, temperature: 0, stream: true, ...body });
  let bytes = 0;
  const read = async () => {
    for (let sent = 0; sent < plan.requests; sent++) {
      const response = await fetch(new URL(path, target.base), init);
      const { byteLength } = await response.arrayBuffer();
      bytes += byteLength;
      if (!response.ok) throw new Error(`${dialect}: ${response.status}`);
    }
  };
  await Promise.all(Array.from({ length: plan.streams }, read));
  const after = await readCounts(target, pid);
  return {
    tokens: after.tokens - before.tokens,
    steps: after.steps - before.steps,
    cpuMs: after.cpuMs - before.cpuMs,
    bytes,
  };
}

async function readCounts(target: Target, pid: number) {
  const text = await (await fetch(new URL("/metrics", target.base))).text();
  return {
    tokens: total(text, "nightshift_generation_tokens_total"),
    steps: total(text, "nightshift_step_seconds_count"),
    cpuMs: ownCpuMs(pid),
  };
}

export const DIALECTS_HEAD = ["dialect", "tokens", "steps", "bytes/token", "server CPU µs/token", "× chat"];

/** One row per dialect; ratios are to the first dialect in the same repeat. */
export function dialectRows(results: readonly DialectResult[]): string[][] {
  const [first] = results;
  return results.map(({ dialect, rounds }) => {
    const ratios: Spread = spread(rounds.map((one, i) => perToken(one) / perToken(first!.rounds[i]!)));
    return [
      dialect,
      figure(median(rounds.map(({ tokens }) => tokens))),
      figure(median(rounds.map(({ steps }) => steps))),
      figure(median(rounds.map(({ bytes, tokens }) => bytes / tokens))),
      spreadText(spread(rounds.map(perToken))),
      spreadText(ratios),
    ];
  });
}

/** Microseconds of the server's process for each generated token. */
function perToken({ cpuMs, tokens }: Round): number {
  return (cpuMs * 1000) / tokens;
}

function user() {
  return { role: "user", content: PROMPT };
}
