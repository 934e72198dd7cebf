import { heldStep } from "../../../platform/engine-failpoint.ts";
import { aloneMs, type PlanLimits } from "../cost/step-caps.ts";
import type { Embedder } from "../embedding/embedder.ts";
import { type SharingLimits, StepSharing, type WorkClass } from "../embedding/step-sharing.ts";
import type { StepLoop } from "./step-loop.ts";

export interface WorkLoopParts {
  /** Null for a model that does not generate. */
  steps: Pick<StepLoop, "workClass" | "step" | "flush"> | null;
  /** Null where there is no memory for it. */
  embedder: Pick<Embedder, "workClass" | "cheapestMs" | "piece"> | null;
  limits: SharingLimits & Pick<PlanLimits, "ttftMs" | "batchStepMs" | "mostStepMs">;
  /** Milliseconds, monotonic. */
  now: () => number;
}

/** The engine's main loop: steps, and between two steps at most one embedding batch. */
export class WorkLoop {
  readonly #parts: WorkLoopParts;
  readonly #sharing: StepSharing;
  #wake: (() => void) | null = null;
  /** True when wake() was called since the last iteration began: its cause may have come too late for that iteration. */
  #woken = false;
  /** Called when the current iteration has ended. */
  readonly #afterIteration: (() => void)[] = [];

  constructor(parts: WorkLoopParts) {
    this.#parts = parts;
    this.#sharing = new StepSharing(parts.limits);
  }

  wake(): void {
    this.#woken = true;
    this.#wake?.();
  }

  /** Calls back between two iterations, when the current step or embedding batch has ended. */
  afterIteration(then: () => void): void {
    this.#afterIteration.push(then);
    this.wake();
  }

  /** Runs until the process ends. @throws DecodeError when llama.cpp cannot continue */
  async run(): Promise<never> {
    for (;;) {
      this.#woken = false;
      for (const then of this.#afterIteration.splice(0)) then();
      if ((await this.#iterate()) || this.#woken) continue;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = null;
    }
  }

  /** @returns false when there was nothing to do */
  async #iterate(): Promise<boolean> {
    const { steps, embedder } = this.#parts;
    if (heldStep !== null && steps !== null && steps.workClass !== "nothing") await heldStep(() => steps.flush());
    // Without embeddings a step has no overhead here.
    if (embedder === null || embedder.workClass === "nothing") return steps?.step() ?? false;
    if (steps === null) return (await embedder.piece(this.#pieceMs("nothing", embedder), false)) > 0;
    const { workClass } = steps;
    const stepNext = this.#sharing.stepNext(workClass, embedder.workClass);
    const stepped = stepNext && (await this.#step(steps, workClass));
    // Sequences that cannot be computed do not delay an embedding batch.
    const pieceMs = this.#pieceMs(stepNext && !stepped ? "nothing" : workClass, embedder);
    if (pieceMs === 0) return stepped;
    const pieces = embedder.workClass;
    const piece = embedder.piece(pieceMs, workClass === "online");
    steps.flush();
    this.#sharing.pieced(await piece, pieces, workClass);
    return true;
  }

  async #step(steps: NonNullable<WorkLoopParts["steps"]>, workClass: WorkClass): Promise<boolean> {
    const { now } = this.#parts;
    const begin = now();
    const stepped = await steps.step();
    if (stepped) this.#sharing.stepped(now() - begin, workClass);
    return stepped;
  }

  #pieceMs(
    workClass: WorkClass,
    { workClass: pieces, cheapestMs }: Pick<Embedder, "workClass" | "cheapestMs">,
  ): number {
    const { limits } = this.#parts;
    return Math.min(
      this.#sharing.pieceMs(workClass, pieces, cheapestMs, aloneMs(cheapestMs, limits)),
      limits.mostStepMs,
    );
  }
}
