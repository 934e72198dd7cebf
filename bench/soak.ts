import { type Resident, residentMemory, totalMib } from "./memory.ts";
import { type Endpoint, promptMaker } from "./prompt.ts";
import { Random } from "./random.ts";
import { slope } from "./statistics.ts";
import { stream } from "./stream.ts";
import type { Target } from "./target.ts";

export interface SoakPlan {
  requests: number;
  /** Clients at once. */
  concurrency: number;
  endpoint: Endpoint;
  seed: number;
}

/** Resident memory after so many requests, of the server and all its children. */
export interface SoakSample {
  requests: number;
  processes: Resident[];
}

export interface SoakResult {
  samples: SoakSample[];
  failures: string[];
  seconds: number;
  completionTokens: number;
}

/** Prompts and answers are short and of uneven length, as chats are. */
const PROMPT = { from: 24, to: 96 };
const TOKENS = { from: 2, to: 24 };
const SAMPLES = 20;
/** Heaps and pools may grow for this share of the run before growth counts. */
const WARM = 0.2;

/** Sends short requests and looks at the memory of process `pid` twenty times on the way, at the start and at the end. */
export async function soak(
  target: Target,
  pid: number,
  plan: SoakPlan,
  onSample: (sample: SoakSample) => void,
): Promise<SoakResult> {
  const random = new Random(plan.seed);
  const make = await promptMaker(plan.endpoint, target, random);
  const samples: SoakSample[] = [];
  const failures: string[] = [];
  const every = Math.max(1, Math.floor(plan.requests / SAMPLES));
  let begun = 0;
  let ended = 0;
  let completionTokens = 0;
  const look = async () => {
    const sample = { requests: ended, processes: await residentMemory(pid) };
    samples.push(sample);
    onSample(sample);
  };
  await look();
  const from = performance.now();
  const client = async () => {
    while (begun < plan.requests) {
      begun++;
      const length = random.integer(PROMPT.from, PROMPT.to);
      const tokens = random.integer(TOKENS.from, TOKENS.to);
      const body = { ...make(length, null, random), max_tokens: tokens, temperature: 0.7, ignore_eos: true };
      try {
        completionTokens += (await stream(target, body)).completionTokens;
      } catch (error) {
        failures.push(error instanceof Error ? error.message : String(error));
      }
      if (++ended % every === 0) await look();
    }
  };
  await Promise.all(Array.from({ length: plan.concurrency }, client));
  return { samples, failures, seconds: (performance.now() - from) / 1000, completionTokens };
}

export interface Trend {
  pid: number;
  name: string;
  first: number;
  last: number;
  /** MiB per 1,000 requests by least squares, the first fifth of the run left out. */
  perThousand: number;
}

/** How the memory of each process went, and of all together (pid 0). A process that came or went has its own line. */
export function memoryTrends(samples: SoakSample[]): Trend[] {
  const most = Math.max(...samples.map(({ requests }) => requests));
  const trend = (pid: number, name: string, mib: (sample: SoakSample) => number | undefined): Trend => {
    const points = samples.flatMap((sample) => {
      const y = mib(sample);
      return y === undefined ? [] : [{ x: sample.requests / 1000, y }];
    });
    const warm = points.filter(({ x }) => x * 1000 >= most * WARM);
    return { pid, name, first: points[0]!.y, last: points.at(-1)!.y, perThousand: slope(warm) };
  };
  const names = new Map(samples.flatMap(({ processes }) => processes.map(({ pid, name }) => [pid, name] as const)));
  return [
    ...[...names].map(([pid, name]) =>
      trend(pid, name, ({ processes }) => processes.find((process) => process.pid === pid)?.mib),
    ),
    trend(0, "all", ({ processes }) => totalMib(processes)),
  ];
}
