import { setInterval as every } from "node:timers/promises";
import { call } from "../../target/call.ts";
import type { Target } from "../../target/target.ts";

/**
 * Cost of a step in milliseconds: `fixed + prefill · prompt tokens + decode · decodes + kv · cells that decodes attend
 * over + read · cells that prompts attend over`.
 */
export interface StepCosts {
  fixed: number;
  prefill: number;
  decode: number;
  kv: number;
  read: number;
  /** Added for each further pass over the weights. */
  pass: number;
}

interface EngineList {
  data: { model: string; status: EngineStatus | null }[];
}

interface EngineStatus {
  step_model: { fit: Record<"o" | "p" | "d" | "k" | "r" | "m", number> };
  objectives: { itl_ms: number };
}

const READ_EVERY_MS = 500;

/** Reads the step model of this project's server. */
async function readStepCosts(target: Target): Promise<StepCosts> {
  const status = await engineStatus(target);
  const { o, p, d, k, r, m } = status.step_model.fit;
  return { fixed: o, prefill: p, decode: d, kv: k, read: r, pass: m };
}

/** The server's ITL objective in milliseconds, set or derived from step costs. */
export async function itlObjective(target: Target): Promise<number> {
  return (await engineStatus(target)).objectives.itl_ms;
}

async function engineStatus(target: Target): Promise<EngineStatus> {
  const { data } = await call<EngineList>(target, "nightshift/engine", {});
  const status = data.find(({ model }) => model === target.model)?.status;
  if (!status) throw new Error(`${target.label}: no step model of ${target.model}`);
  return status;
}

export function meanCosts(all: readonly StepCosts[]): StepCosts {
  const mean = (of: (costs: StepCosts) => number) => all.reduce((sum, costs) => sum + of(costs), 0) / all.length;
  return {
    fixed: mean(({ fixed }) => fixed),
    prefill: mean(({ prefill }) => prefill),
    decode: mean(({ decode }) => decode),
    kv: mean(({ kv }) => kv),
    read: mean(({ read }) => read),
    pass: mean(({ pass }) => pass),
  };
}

/**
 * Runs `work` and reads step costs twice a second meanwhile. Only costs of the same time are valid: on a shared
 * machine, costs of another minute are those of another machine.
 */
export async function withStepCosts<T>(
  target: Target,
  work: () => Promise<T>,
): Promise<{ result: T; costs: StepCosts }> {
  const over = new AbortController();
  const seen: StepCosts[] = [];
  const reading = (async () => {
    for await (const _ of every(READ_EVERY_MS, null, { signal: over.signal })) seen.push(await readStepCosts(target));
  })().catch((error: unknown) => {
    if (!over.signal.aborted) throw error;
  });
  try {
    const result = await work();
    seen.push(await readStepCosts(target));
    return { result, costs: meanCosts(seen) };
  } finally {
    over.abort();
    await reading;
  }
}
