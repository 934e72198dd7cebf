import { once } from "node:events";
import { request } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { programUrl } from "../../platform/installation.ts";
import { median } from "../base/statistics.ts";
import { figure } from "../base/table.ts";
import { stream } from "../target/stream.ts";
import type { Target } from "../target/target.ts";
import type { WorkKind, WorkOrder } from "./responsive-work.ts";

/** Limits in milliseconds of /health, and of the gap between two events of a stream, on two idle cores. */
const MOST_HEALTH_MS = 100;
const MOST_GAP_MS = 250;
const PROBE_EVERY_MS = 10;
const QUIET_MS = 2000;

export interface Responsiveness {
  kind: WorkKind | "nothing";
  seconds: number;
  /** Milliseconds of each probe, and of the longest gap in the concurrent streams. */
  health: number[];
  worstGap: number;
  /** Statuses of the work's responses. */
  statuses: number[];
}

/** Measures /health and a stream beside each kind of work, and beside none. Another thread requests the work. */
export async function measureResponsiveness(
  target: Target,
  kinds: readonly WorkKind[],
  dataDir: string | null,
): Promise<Responsiveness[]> {
  const results = [await beside(target, "nothing", () => wait(QUIET_MS).then(() => []))];
  for (const kind of kinds) {
    const order: WorkOrder = { kind, base: target.base.href, model: target.model, dataDir };
    results.push(await beside(target, kind, () => worked(order)));
  }
  return results;
}

async function worked(workerData: WorkOrder): Promise<number[]> {
  const worker = new Worker(programUrl("bench/responsive/responsive-thread"), { workerData });
  const [statuses] = (await once(worker, "message")) as [number[]];
  return statuses;
}

async function beside(
  target: Target,
  kind: Responsiveness["kind"],
  work: () => Promise<number[]>,
): Promise<Responsiveness> {
  const over = new AbortController();
  const health: number[] = [];
  let worstGap = 0;
  const probes = async () => {
    while (!over.signal.aborted) {
      health.push(await probe(target));
      await wait(PROBE_EVERY_MS);
    }
  };
  const streams = async () => {
    while (!over.signal.aborted) {
      let last: number | null = null;
      const onText = (at: number) => {
        if (last !== null) worstGap = Math.max(worstGap, at - last);
        last = at;
      };
      const messages = [{ role: "user", content: "Count from 1 to 20." }];
      const body = { path: "chat/completions", messages, max_tokens: 2000, ignore_eos: true } as const;
      await stream(target, body, { signal: over.signal, onText }).catch((error: unknown) => {
        if (!over.signal.aborted) throw error;
      });
    }
  };
  const watching = Promise.all([probes(), streams()]);
  await wait(500);
  const began = performance.now();
  const statuses = await work();
  const seconds = (performance.now() - began) / 1000;
  over.abort();
  await watching;
  return { kind, seconds, health, worstGap, statuses };
}

function probe({ base, agent }: Target): Promise<number> {
  const began = performance.now();
  return new Promise((resolve, reject) => {
    request(new URL("/health", base), { agent }, (response) => {
      response.resume().once("end", () => resolve(performance.now() - began));
    })
      .on("error", reject)
      .end();
  });
}

export const RESPONSIVE_HEAD = ["beside", "seconds", "statuses", "/health p50 ms", "/health worst ms", "worst gap ms"];

export function responsiveRow({ kind, seconds, statuses, health, worstGap }: Responsiveness): string[] {
  const times = [median(health), Math.max(...health), worstGap].map(figure);
  return [kind, figure(seconds), statuses.join(" ") || "–", ...times];
}

/** Measurements beyond the limits. */
export function responsiveDoubts({ kind, health, worstGap }: Responsiveness): string[] {
  const worst = Math.max(...health);
  return [
    ...(worst > MOST_HEALTH_MS ? [`${kind}: /health took ${figure(worst)} ms, more than ${MOST_HEALTH_MS}`] : []),
    ...(worstGap > MOST_GAP_MS ? [`${kind}: a stream stalled for ${figure(worstGap)} ms, over ${MOST_GAP_MS}`] : []),
  ];
}
