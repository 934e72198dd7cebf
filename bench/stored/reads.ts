import { request } from "node:http";
import { type Distribution, distribution } from "../base/statistics.ts";
import { figure } from "../base/table.ts";
import { Chats } from "../prompts/chats.ts";
import { interleave } from "../target/rounds.ts";
import { AUTHORIZATION, type Target } from "../target/target.ts";
import { completionId, longId, metadataOf, responseId, type StoredPlan } from "./stored-fill.ts";

export interface ReadPlan extends StoredPlan {
  /** Requests of each read in each repeat, one after the other. */
  requests: number;
  repeats: number;
}

export interface ReadResult {
  label: string;
  /** Milliseconds from sending to the last byte. */
  alone: Distribution;
  besideStream: Distribution;
}

/** A path below the base URL for the nth request. */
type Path = (n: number) => string;

/** Times the reads of stored answers, alone and beside one chat stream after the other. */
export async function measureReads(target: Target, plan: ReadPlan): Promise<ReadResult[]> {
  const chats = new Chats(target);
  const reads = Object.entries(paths(plan));
  for (const [, path] of reads) await times(target, path, plan.requests);
  const results: ReadResult[] = [];
  for (const [label, path] of reads) {
    const run = () => times(target, path, plan.requests);
    const [alone, beside] = await interleave([run, () => chats.during(run)], plan.repeats, (arm) => arm());
    results.push({ label, alone: distribution(alone!.flat()), besideStream: distribution(beside!.flat()) });
  }
  return results;
}

function paths({ answers, longChain }: StoredPlan): Record<string, Path> {
  const any = (n: number) => (n * 7919) % answers;
  const list = (pairs: object) => {
    const query = Object.entries(pairs).map(([name, value]) => `metadata[${name}]=${value}`);
    return `chat/completions?${query.join("&")}`;
  };
  const last = longId(longChain - 1);
  return {
    "a response": (n) => `responses/${responseId(any(n))}`,
    "a chat completion": (n) => `chat/completions/${completionId(any(n))}`,
    "completions, first page": () => "chat/completions?order=desc",
    "completions of one in 100": (n) => list({ job: metadataOf(any(n)).job }),
    "one completion by two pairs, the first of all": (n) => list({ all: "1", n: any(n) }),
    "no completion by two pairs of one half each": (n) => list({ half: "0", n: 2 * any(n) + 1 }),
    input_items: (n) => `responses/${responseId(any(n))}/input_items`,
    [`input_items of a chain of ${longChain}`]: () => `responses/${last}/input_items`,
    "its oldest page": () => `responses/${last}/input_items?order=asc&limit=100`,
  };
}

async function times(target: Target, path: Path, requests: number): Promise<number[]> {
  const all: number[] = [];
  for (let n = 0; n < requests; n++) {
    const began = performance.now();
    await get(target, path(n));
    all.push(performance.now() - began);
  }
  return all;
}

/** Reads an answer to its end; rejects with its status unless it is 200. */
export function get({ base, agent, label }: Target, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    request(new URL(path, base), { agent, headers: AUTHORIZATION }, (response) => {
      response.resume().once("end", () => {
        if (response.statusCode === 200) resolve();
        else reject(new Error(`${label}: ${response.statusCode} for ${path}`));
      });
    })
      .on("error", reject)
      .end();
  });
}

export const READS_HEAD = ["read", "p50 ms", "p99 ms", "most ms", "beside a stream p50 ms", "p99 ms", "most ms"];

export function readRows(results: readonly ReadResult[]): string[][] {
  return results.map(({ label, alone, besideStream }) => [
    label,
    ...[alone, besideStream].flatMap(({ p50, p99, max }) => [p50, p99, max].map(figure)),
  ]);
}
