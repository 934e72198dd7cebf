import { setTimeout as wait } from "node:timers/promises";
import type { Random } from "../../base/random.ts";
import { createBatch, isOver, retrieveBatch } from "../../batch/batch-job.ts";
import { promptMaker } from "../../prompts/prompt.ts";
import { call, json } from "../../target/call.ts";
import { counters } from "../../target/counters.ts";
import type { Body } from "../../target/stream.ts";
import type { Target } from "../../target/target.ts";

/** Shape of every batch line; the supply is endless. */
export interface LineShape {
  prompt: number;
  tokens: number;
}

/** Batch work that runs until it is stopped. */
export interface BatchWork {
  /** Output tokens so far. */
  tokens: () => Promise<number>;
  /** Removes the rest and waits until the server has none of it. */
  stop: () => Promise<void>;
}

const POLL_MS = 50;

export async function lineBodies(target: Target, line: LineShape, count: number, random: Random): Promise<Body[]> {
  const make = await promptMaker("completions", target, random);
  const settings = { max_tokens: line.tokens, temperature: 0, ignore_eos: true };
  return Array.from({ length: count }, () => ({ ...make(line.prompt, null, random), ...settings }));
}

/** Starts a batch of /v1/batches; resolves once lines of it have run. */
export async function batchJob(target: Target, bodies: Body[]): Promise<BatchWork> {
  const id = await createBatch(target, bodies);
  const read = () => counters(target);
  const before = (await read()).batchTokens;
  const openBatch = async () => {
    const batch = await retrieveBatch(target, id);
    if (isOver(batch)) throw new Error(`${target.label}: the batch ended ${batch.status} before the measurement did`);
    return batch;
  };
  while ((await openBatch()).status !== "in_progress" || (await read()).batchTokens === before) await wait(POLL_MS);
  return {
    tokens: async () => {
      await openBatch();
      return (await read()).batchTokens - before;
    },
    stop: async () => {
      await call(target, `batches/${id}/cancel`, json({}));
      while (!isOver(await retrieveBatch(target, id))) await wait(POLL_MS);
    },
  };
}

/**
 * A plain client's loop: `clients` concurrent requests, not streamed, the next line sent when one has ended. A line's
 * tokens count when it ends: as many lines are in flight at the start of a measurement as at its end, so none are lost.
 */
export function clientLoop(target: Target, bodies: Body[], clients: number): BatchWork {
  const abort = new AbortController();
  let next = 0;
  let tokens = 0;
  let failure: unknown = null;
  const client = async () => {
    while (!abort.signal.aborted) {
      const { path, ...fields } = bodies[next++ % bodies.length]!;
      const init = { ...json({ model: target.model, ...fields }), signal: abort.signal };
      const { usage } = await call<{ usage: { completion_tokens: number } }>(target, path, init);
      tokens += usage.completion_tokens;
    }
  };
  const loops = Array.from({ length: clients }, () =>
    client().catch((error: unknown) => {
      if (!abort.signal.aborted) failure = error;
    }),
  );
  return {
    tokens: async () => {
      if (failure !== null) throw failure;
      return tokens;
    },
    stop: async () => {
      abort.abort();
      await Promise.all(loops);
    },
  };
}
