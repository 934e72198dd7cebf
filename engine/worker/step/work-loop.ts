import { heldStep } from "../../../platform/engine-failpoint.ts";
import { aloneMs, type PlanLimits } from "../cost/step-caps.ts";
import type { Embedder } from "../embedding/embedder.ts";
import { StepSharing, type TurnLimits, type Want } from "../embedding/step-sharing.ts";
import type { StepLoop } from "./step-loop.ts";

export interface WorkLoopParts {
  /** Null: the model does not generate. */
  steps: Pick<StepLoop, "want" | "step" | "flush"> | null;
  /** Null: there is no room for it. */
  embedder: Pick<Embedder, "want" | "cheapestMs" | "piece"> | null;
  limits: TurnLimits & Pick<PlanLimits, "ttftMs" | "batchStepMs" | "mostStepMs">;
  /** Milliseconds, monotonic. */
  now: () => number;
}

/** What an engine does all day: steps of generations, and between two of them at most one piece of embeddings. */
export class WorkLoop {
  readonly #parts: WorkLoopParts;
  readonly #turns: StepSharing;
  #wake: (() => void) | null = null;
  /** Whether there is something new since the last turn began: it may have come too late for that. */
  #woken = false;
  /** Called when the present turn has ended. */
  readonly #afterTurn: (() => void)[] = [];

  constructor(parts: WorkLoopParts) {
    this.#parts = parts;
    this.#turns = new StepSharing(parts.limits);
  }

  wake(): void {
    this.#woken = true;
    this.#wake?.();
  }

  /** Calls back between two turns: whatever computes now has ended then. */
  afterTurn(then: () => void): void {
    this.#afterTurn.push(then);
    this.wake();
  }

  /** Runs for as long as the process lives. @throws DecodeError when llama.cpp can't go on */
  async run(): Promise<never> {
    for (;;) {
      this.#woken = false;
      for (const then of this.#afterTurn.splice(0)) then();
      if ((await this.#turn()) || this.#woken) continue;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = null;
    }
  }

  /** @returns false when nothing was left to do */
  async #turn(): Promise<boolean> {
    const { steps, embedder } = this.#parts;
    if (heldStep !== null && steps !== null && steps.want !== "nothing") await heldStep(() => steps.flush());
    // Nobody embeds: nothing is looked at on a step's way.
    if (embedder === null || embedder.want === "nothing") return steps?.step() ?? false;
    if (steps === null) return (await embedder.piece(this.#pieceMs("nothing", embedder), false)) > 0;
    const { want } = steps;
    const stepNext = this.#turns.stepNext(want, embedder.want);
    const stepped = stepNext && (await this.#step(steps, want));
    // Whoever can't go on keeps no piece waiting.
    const pieceMs = this.#pieceMs(stepNext && !stepped ? "nothing" : want, embedder);
    if (pieceMs === 0) return stepped;
    const pieces = embedder.want;
    const piece = embedder.piece(pieceMs, want === "online");
    steps.flush();
    this.#turns.pieced(await piece, pieces, want);
    return true;
  }

  async #step(steps: NonNullable<WorkLoopParts["steps"]>, want: Want): Promise<boolean> {
    const { now } = this.#parts;
    const begin = now();
    const stepped = await steps.step();
    if (stepped) this.#turns.stepped(now() - begin, want);
    return stepped;
  }

  #pieceMs(want: Want, { want: pieces, cheapestMs }: Pick<Embedder, "want" | "cheapestMs">): number {
    const { limits } = this.#parts;
    return Math.min(this.#turns.pieceMs(want, pieces, cheapestMs, aloneMs(cheapestMs, limits)), limits.mostStepMs);
  }
}
