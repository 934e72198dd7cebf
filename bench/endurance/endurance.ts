import { readFile } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";
import { Random } from "../base/random.ts";
import { accountOf } from "../batch/batch-account.ts";
import { createBatch, isOver, retrieveBatch } from "../batch/batch-job.ts";
import { type BatchAccount, type Books, growth, type OnlineAccount, readBooks } from "../batch/books.ts";
import { type PromptMaker, promptMaker } from "../prompts/prompt.ts";
import { call, json } from "../target/call.ts";
import { residentMemory } from "../target/memory.ts";
import { stream } from "../target/stream.ts";
import type { Target } from "../target/target.ts";
import type { MemorySample } from "./memory-trend.ts";

export interface EndurancePlan {
  seconds: number;
  /** Concurrent online clients. */
  clients: number;
  /** Lines of each batch; batches run one after the other. */
  lines: number;
  seed: number;
}

export interface EnduranceResult {
  samples: MemorySample[];
  online: OnlineAccount;
  /** Accounts of all terminal batches. */
  batches: BatchAccount[];
  enginesKilled: number;
  /** Failures that do not follow an engine's kill. */
  failures: string[];
  books: Books;
}

/** Every LEAVES-th request is cancelled during its response, every CANCELS-th batch is cancelled. */
const LEAVES = 8;
const CANCELS = 4;
const PAUSE_MS = 150;
const SAMPLES = 40;
/** Milliseconds after a kill in which requests may fail: the next engine loads its model. */
const RECOVERS_WITHIN_MS = 15_000;
/** Milliseconds until online requests are in the ledger, with a margin: rows follow within 100 ms. */
const BOOKED_WITHIN_MS = 1000;
const POLL_MS = 100;

/**
 * Weeks of events in minutes: chats with some cancelled during the response, one batch after the other with some
 * cancelled, and a SIGKILL of every engine process half-way. The books are compared at the end. The server must be idle
 * before, and have no other clients.
 */
export async function endurance(
  target: Target,
  pid: number,
  plan: EndurancePlan,
  say: (text: string) => void,
): Promise<EnduranceResult> {
  const random = new Random(plan.seed);
  const make = await promptMaker("chat", target, random);
  await wait(BOOKED_WITHIN_MS);
  const before = await readBooks(target);
  const until = performance.now() + plan.seconds * 1000;
  const going = () => performance.now() < until;
  const online: OnlineAccount = { answered: 0, left: 0, failed: 0, completionTokens: 0 };
  const failures: string[] = [];
  let killedAt = Number.NEGATIVE_INFINITY;
  const failed = (error: unknown) => {
    online.failed++;
    if (performance.now() - killedAt > RECOVERS_WITHIN_MS) failures.push(String(error));
  };

  const client = async () => {
    for (let i = 0; going(); i++) {
      const body = chatBody(make, random);
      if (i % LEAVES === LEAVES - 1) {
        await leave(target, body, random.integer(1, 8)).then(() => online.left++, failed);
      } else {
        await stream(target, body).then((sample) => {
          online.answered++;
          online.completionTokens += sample.completionTokens;
        }, failed);
      }
      await wait(random.integer(0, PAUSE_MS));
    }
  };
  const batches: BatchAccount[] = [];
  const batcher = async () => {
    for (let i = 0; going(); i++) {
      const account = await oneBatch(target, plan.lines, i % CANCELS === CANCELS - 1, make, random);
      batches.push(account);
      say(`batch ${i + 1}: ${account.status}, ${account.completionTokens} tokens`);
    }
  };
  const samples: MemorySample[] = [];
  const watcher = async () => {
    for (let i = 0; i <= SAMPLES; i++) {
      samples.push({ requests: online.answered + online.left, processes: await residentMemory(pid) });
      if (i < SAMPLES) await wait((plan.seconds * 1000) / SAMPLES);
    }
  };
  const killer = async () => {
    await wait((plan.seconds * 1000) / 2);
    const engines = await enginesOf(pid);
    killedAt = performance.now();
    for (const engine of engines) process.kill(engine, "SIGKILL");
    say(`killed ${engines.length} engine process${engines.length === 1 ? "" : "es"}`);
    return engines.length;
  };
  const clients = Array.from({ length: plan.clients }, client);
  const [enginesKilled] = await Promise.all([killer(), batcher(), watcher(), ...clients]);
  await wait(BOOKED_WITHIN_MS);
  return { samples, online, batches, enginesKilled, failures, books: growth(before, await readBooks(target)) };
}

function chatBody(make: PromptMaker, random: Random) {
  return { ...make(random.integer(24, 96), null, random), max_tokens: random.integer(2, 48), ignore_eos: true };
}

/** Closes the connection after `after` events. */
async function leave(target: Target, body: ReturnType<typeof chatBody>, after: number): Promise<void> {
  const abort = new AbortController();
  let events = 0;
  const onText = () => {
    if (++events === after) abort.abort();
  };
  try {
    await stream(target, body, { signal: abort.signal, onText });
  } catch (error) {
    if (!abort.signal.aborted) throw error;
  }
}

async function oneBatch(target: Target, lines: number, cancel: boolean, make: PromptMaker, random: Random) {
  const bodies = Array.from({ length: lines }, () => chatBody(make, random));
  const id = await createBatch(target, bodies);
  if (cancel) {
    await wait(random.integer(200, 2000));
    // a terminal batch answers 409
    await call(target, `batches/${id}/cancel`, json({})).catch(() => {});
  }
  for (;;) {
    const batch = await retrieveBatch(target, id);
    if (isOver(batch)) return accountOf(target, batch, lines);
    await wait(POLL_MS);
  }
}

/** Child processes of the server: its engines, one per model. */
async function enginesOf(pid: number): Promise<number[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8");
  return children.split(" ").filter(Boolean).map(Number);
}
