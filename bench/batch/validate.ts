import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as wait } from "node:timers/promises";
import { Random } from "../base/random.ts";
import { spread } from "../base/statistics.ts";
import { figure, spreadText } from "../base/table.ts";
import { Chats } from "../prompts/chats.ts";
import { call, json } from "../target/call.ts";
import { longestDelayMs, loopDelaysIn } from "../target/loop-delay.ts";
import { residentMemory } from "../target/memory.ts";
import { interleave } from "../target/rounds.ts";
import type { Target } from "../target/target.ts";
import { batchFile } from "./batch-file.ts";

export interface ValidatePlan {
  lines: number;
  /** Bytes of each line. */
  bytes: number;
  /** Seconds that each batch runs before it is cancelled. */
  runSeconds: number;
  repeats: number;
  seed: number;
}

export interface ValidateRun {
  uploadSeconds: number;
  /** From sending the batch's creation to reading it as in progress. */
  validateSeconds: number;
  /** Longest event loop turn of the server during upload and validation, from its metrics (10 ms means none). */
  loopDelayMs: number;
  /** Longest gap between two events of the concurrent chat streams; NaN without. */
  streamGapMs: number;
  /** Longest event loop turn of this client: a gap that is not longer says nothing about the server. */
  clientDelayMs: number;
  /** Peak resident memory of the server's process above its value before the first run, by phase. */
  aboveIdleMib: { upload: number; validate: number; run: number };
  /** While the batch ran: lines that ended per second, and the busy fraction of the store's thread. */
  runLinesPerSecond: number;
  storeShare: number;
}

export interface ValidateArm {
  label: string;
  repeats: ValidateRun[];
}

const POLL_MS = 10;
const SAMPLE_MS = 25;

/** Measures upload and validation of a batch file, alternately alone and beside one chat stream after the other. */
export async function measureValidation(
  target: Target,
  pid: number,
  plan: ValidatePlan,
  onDone: (label: string, run: ValidateRun) => void,
): Promise<ValidateArm[]> {
  const random = new Random(plan.seed);
  const chats = new Chats(target);
  await chats.during(() => wait(500));
  const idle = await ownMib(pid);
  const arms = [
    { label: "alone", run: (file: Blob) => measureOne(target, pid, idle, plan, file) },
    {
      label: "beside a chat stream",
      run: (file: Blob) => chats.during(() => measureOne(target, pid, idle, plan, file, chats)),
    },
  ];
  const results = await interleave(arms, plan.repeats, async ({ label, run }) => {
    const done = await run(batchFile(target.model, plan, random));
    onDone(label, done);
    return done;
  });
  return arms.map(({ label }, i) => ({ label, repeats: results[i]! }));
}

async function measureOne(
  target: Target,
  pid: number,
  idle: number,
  plan: ValidatePlan,
  content: Blob,
  chats?: Chats,
): Promise<ValidateRun> {
  const memory = new Memory(pid);
  const form = new FormData();
  form.set("purpose", "batch");
  form.set("file", content, "bench.jsonl");
  const start = await reading(target);
  const own = monitorEventLoopDelay({ resolution: 10 });
  own.enable();
  const from = performance.now();
  let began = from;
  const file = await call<{ id: string }>(target, "files", { method: "POST", body: form });
  const uploadSeconds = (performance.now() - began) / 1000;
  const upload = memory.peak() - idle;
  began = performance.now();
  const request = { input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h" };
  const { id } = await call<{ id: string }>(target, "batches", json(request));
  const reaches = async (...wanted: string[]) => {
    for (;;) {
      const { status } = await call<{ status: string }>(target, `batches/${id}`, { method: "GET" });
      if (wanted.includes(status)) return;
      if (status === "failed") throw new Error(`${target.label}: the batch failed its validation`);
      await wait(POLL_MS);
    }
  };
  await reaches("in_progress", "finalizing", "completed");
  const validateSeconds = (performance.now() - began) / 1000;
  const loopDelayMs = longestDelayMs(start.loopDelays, (await reading(target)).loopDelays);
  const streamGapMs = (await chats?.longestGap(from)) ?? Number.NaN;
  own.disable();
  const validate = memory.peak() - idle;
  const before = await reading(target);
  await wait(plan.runSeconds * 1000);
  const after = await reading(target);
  const seconds = (after.at - before.at) / 1000;
  const run = memory.peak() - idle;
  memory.stop();
  await call(target, `batches/${id}/cancel`, { method: "POST" });
  await reaches("cancelled", "completed");
  await call(target, `files/${file.id}`, { method: "DELETE" });
  return {
    uploadSeconds,
    validateSeconds,
    loopDelayMs,
    streamGapMs,
    clientDelayMs: own.max / 1e6,
    aboveIdleMib: { upload, validate, run },
    runLinesPerSecond: (after.lines - before.lines) / seconds,
    storeShare: (after.storeBusySeconds - before.storeBusySeconds) / seconds,
  };
}

/** The most resident memory since it was last asked. */
class Memory {
  readonly #timer: NodeJS.Timeout;
  #peak = 0;

  constructor(pid: number) {
    this.#timer = setInterval(() => {
      void ownMib(pid).then((mib) => {
        this.#peak = Math.max(this.#peak, mib);
      });
    }, SAMPLE_MS).unref();
  }

  peak(): number {
    const peak = this.#peak;
    this.#peak = 0;
    return peak;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

async function ownMib(pid: number): Promise<number> {
  const own = (await residentMemory(pid)).find((process) => process.pid === pid);
  return own?.mib ?? Number.NaN;
}

/** Reads the server's metrics. */
async function reading({ base }: Target) {
  const text = await (await fetch(new URL("/metrics", base))).text();
  const sum = (name: string) =>
    [...text.matchAll(new RegExp(`^nightshift_${name}(?:\\{[^}]*\\})? (\\S+)$`, "gm"))].reduce(
      (total, [, value]) => total + Number(value),
      0,
    );
  return {
    at: performance.now(),
    loopDelays: loopDelaysIn(text),
    storeBusySeconds: sum("store_busy_seconds_total"),
    lines: sum("batch_lines_total"),
  };
}

export const VALIDATE_HEAD = [
  "validation",
  "lines/s",
  "upload MB/s",
  "longest loop turn ms",
  "longest stream gap ms",
  "client's own ms",
  "MiB above idle: upload",
  "validation",
  "run",
  "run: lines/s",
  "store busy %",
];

export function validateRows(arms: ValidateArm[], { lines, bytes }: ValidatePlan): string[][] {
  return arms.map(({ label, repeats }) => {
    const over = (value: (run: ValidateRun) => number) => spread(repeats.map(value));
    return [
      label,
      spreadText(over((run) => lines / run.validateSeconds)),
      spreadText(over((run) => (lines * bytes) / 1e6 / run.uploadSeconds)),
      figure(over((run) => run.loopDelayMs).max),
      figure(over((run) => run.streamGapMs).max),
      figure(over((run) => run.clientDelayMs).max),
      ...(["upload", "validate", "run"] as const).map((phase) => figure(over((run) => run.aboveIdleMib[phase]).max)),
      spreadText(over((run) => run.runLinesPerSecond)),
      spreadText(over((run) => run.storeShare * 100)),
    ];
  });
}
