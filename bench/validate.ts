import { setTimeout as wait } from "node:timers/promises";
import { residentMemory } from "./memory.ts";
import { Random } from "./random.ts";
import { interleave } from "./rounds.ts";
import { spread } from "./statistics.ts";
import { stream } from "./stream.ts";
import { figure, spreadText } from "./table.ts";
import type { Target } from "./target.ts";

export interface ValidatePlan {
  lines: number;
  /** Of each line. */
  bytes: number;
  /** How long each batch may run before it is cancelled. */
  runSeconds: number;
  repeats: number;
  seed: number;
}

export interface ValidateRun {
  uploadSeconds: number;
  /** From sending the batch's creation to seeing it in progress. */
  validateSeconds: number;
  /** Longest turn of the server's event loop over upload and validation, as its metrics tell it (10 ms: none). */
  loopDelayMs: number;
  /** Longest gap between two events of the chat streams beside it, NaN without. */
  streamGapMs: number;
  /** Most resident memory of the server's own process above what it had before the first run, by phase. */
  aboveIdleMib: { upload: number; validate: number; run: number };
}

export interface ValidateArm {
  label: string;
  repeats: ValidateRun[];
}

const POLL_MS = 10;
const SAMPLE_MS = 25;
const WORD = 8;

/** Uploads a batch file and has it validated, in turns with nothing else and beside one chat stream after the other. */
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
      run: async (file: Blob) => {
        let run: ValidateRun | undefined;
        const streamGapMs = await chats.during(async () => {
          run = await measureOne(target, pid, idle, plan, file);
        });
        return { ...run!, streamGapMs };
      },
    },
  ];
  const results = await interleave(arms, plan.repeats, async ({ label, run }) => {
    const done = await run(inputFile(target.model, plan, random));
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
): Promise<ValidateRun> {
  const memory = new Memory(pid);
  const form = new FormData();
  form.set("purpose", "batch");
  form.set("file", content, "bench.jsonl");
  await loopDelayMs(target);
  let began = performance.now();
  const file = await call<{ id: string }>(target, "files", { method: "POST", body: form });
  const uploadSeconds = (performance.now() - began) / 1000;
  const upload = memory.peak() - idle;
  began = performance.now();
  const request = { input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h" };
  const { id } = await call<{ id: string }>(target, "batches", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(request),
  });
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
  const delay = await loopDelayMs(target);
  const validate = memory.peak() - idle;
  await wait(plan.runSeconds * 1000);
  const run = memory.peak() - idle;
  memory.stop();
  await call(target, `batches/${id}/cancel`, { method: "POST" });
  await reaches("cancelled", "completed");
  await call(target, `files/${file.id}`, { method: "DELETE" });
  return {
    uploadSeconds,
    validateSeconds,
    loopDelayMs: delay,
    streamGapMs: Number.NaN,
    aboveIdleMib: { upload, validate, run },
  };
}

/** Lines of `bytes` bytes: one system message for all, and random words. */
function inputFile(model: string, { lines, bytes }: ValidatePlan, random: Random): Blob {
  const parts: string[] = [];
  for (let i = 0; i < lines; i++) {
    const line = (content: string) =>
      JSON.stringify({
        custom_id: `line-${random.integer(0, 2 ** 31)}-${i}`,
        method: "POST",
        url: "/v1/chat/completions",
        body: {
          model,
          messages: [
            { role: "system", content: "Answer in one word." },
            { role: "user", content },
          ],
          max_tokens: 8,
        },
      });
    const words = Array.from({ length: Math.ceil(bytes / WORD) }, () => random.integer(0, 36 ** 7).toString(36));
    const text = words.map((word) => word.padStart(WORD - 1, "0")).join(" ");
    const rest = Math.max(1, bytes - 1 - line("").length);
    parts.push(`${line(text.slice(0, rest))}\n`);
  }
  return new Blob(parts);
}

/** One short chat after the other, as long as something else goes on. */
class Chats {
  readonly #target: Target;

  constructor(target: Target) {
    this.#target = target;
  }

  /** Returns the longest gap between two events of one stream, in milliseconds. */
  async during(work: () => Promise<void>): Promise<number> {
    let over = false;
    let longest = 0;
    const chat = async () => {
      const messages = [{ role: "user", content: "Count from 1 to 50." }];
      while (!over) {
        const body = { path: "chat/completions", messages, max_tokens: 64, ignore_eos: true } as const;
        const { gaps } = await stream(this.#target, body);
        longest = Math.max(longest, ...gaps);
      }
    };
    const chats = chat();
    await Promise.all([
      chats,
      work().finally(() => {
        over = true;
      }),
    ]);
    return longest;
  }
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
    }, SAMPLE_MS);
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

/** The longest since the metrics were last read. */
async function loopDelayMs({ base }: Target): Promise<number> {
  const text = await (await fetch(new URL("/metrics", base))).text();
  const seconds = /^nightshift_nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(text)?.[1];
  return Number(seconds ?? Number.NaN) * 1000;
}

async function call<T>({ base, label }: Target, path: string, init: RequestInit): Promise<T> {
  const response = await fetch(new URL(path, base), init);
  if (!response.ok) throw new Error(`${label}: ${response.status} ${(await response.text()).slice(0, 300)}`);
  return (await response.json()) as T;
}

export const VALIDATE_HEAD = [
  "validation",
  "lines/s",
  "upload MB/s",
  "longest loop turn ms",
  "longest stream gap ms",
  "MiB above idle: upload",
  "validation",
  "run",
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
      ...(["upload", "validate", "run"] as const).map((phase) => figure(over((run) => run.aboveIdleMib[phase]).max)),
    ];
  });
}
