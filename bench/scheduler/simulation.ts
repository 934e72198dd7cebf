import assert from "node:assert/strict";
import type { KvCache } from "../../engine/worker/kv/kv-cache.ts";
import { SplitCache } from "../../engine/worker/kv/split-cache.ts";
import { UnifiedCache } from "../../engine/worker/kv/unified-cache.ts";
import { remaining } from "../../engine/worker/scheduler/scheduled-sequence.ts";
import { Scheduler } from "../../engine/worker/scheduler/scheduler.ts";
import { FakeMemory, hostMemory } from "./fake-memory.ts";
import { type Arrival, SimulatedSequence } from "./simulated-sequence.ts";
import { COSTS, type SimulationSetup } from "./simulation-setup.ts";
import { StepInvariants } from "./step-invariants.ts";

/** Drives the scheduler and a cache as the step loop does, over a memory that checks every step. */
export class Simulation {
  readonly setup: SimulationSetup;
  readonly memory: FakeMemory;
  readonly cache: KvCache;
  readonly scheduler: Scheduler<SimulatedSequence>;
  readonly sequences: SimulatedSequence[] = [];
  /** In the order in which they generated their last tokens. */
  readonly ended: SimulatedSequence[] = [];
  steps = 0;
  /** Tokens that were computed in chunks: prompts, and the tokens that preempted sequences compute again. */
  prefilled = 0;
  preempted = 0;
  readonly #invariants: StepInvariants;

  constructor(setup: SimulationSetup) {
    this.setup = setup;
    this.memory = new FakeMemory(setup);
    const host = hostMemory(setup.hostTokens ?? 0, setup.reuse, setup.stateBytes);
    this.cache =
      setup.kind === "split"
        ? new SplitCache(this.memory, host, { ...setup, capacity: setup.cells })
        : new UnifiedCache(this.memory, host, { ...setup, reserved: setup.reserved && setup.cells >> 3 });
    this.scheduler = new Scheduler(this.cache, { ...setup, ttftMs: 500, mostStepMs: 10_000 }, COSTS);
    this.#invariants = new StepInvariants(this);
  }

  /** @throws AssertionError when an invariant breaks, or when more steps pass than any fair order needs */
  run(arrivals: readonly Arrival[], after: () => void = () => {}): void {
    const coming = [...arrivals].sort((a, b) => a.at - b.at);
    const work = arrivals.reduce((sum, { prompt, goal }) => sum + prompt.length + goal, 0);
    const lag = arrivals.reduce((sum, arrival) => sum + (arrival.lag ?? 0), 0);
    const last = coming.at(-1)?.at ?? 0;
    while (coming.length > 0 || this.sequences.some((sequence) => sequence.state !== "ended")) {
      while (coming.length > 0 && coming[0]!.at <= this.steps) this.#arrive(coming.shift()!);
      for (const sequence of this.sequences) {
        const { cancelAt } = sequence.plan;
        if (cancelAt !== null && cancelAt <= this.steps && sequence.state !== "ended") this.scheduler.end(sequence);
      }
      this.step();
      after();
      assert.ok(this.steps < last + lag + 3 * work + 10);
    }
  }

  step(): void {
    const ran = this.sequences.filter(({ state }) => state === "running");
    const step = this.scheduler.schedule();
    const { entries, started } = step;
    for (const sequence of started) sequence.cached ??= sequence.computed;
    for (const sequence of ran) if (sequence.state === "waiting") this.preempted++;
    this.#invariants.check(step);
    this.steps++;
    this.memory.decode(entries);
    for (const { sequence, count } of entries) {
      if (remaining(sequence) > 1) this.prefilled += count;
      sequence.computed += count;
    }
    for (const { sequence } of entries) {
      if (remaining(sequence) > 0 || !sequence.draw()) continue;
      this.scheduler.end(sequence);
      this.ended.push(sequence);
    }
  }

  #arrive(plan: Arrival): void {
    const sequence = new SimulatedSequence(plan, this.sequences.length, () => this.steps);
    this.sequences.push(sequence);
    this.scheduler.add(sequence);
  }
}
