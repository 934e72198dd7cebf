import type { Engine } from "../../engine/engine.ts";
import { RESTART_POLICY } from "../../engine/restart-policy.ts";
import { lineError } from "../../openapi/resources/batch-errors.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import type { Store } from "../../store/store.ts";
import type { Claim, ClaimedLine } from "../../store/types/line-row.ts";
import { isLineDue } from "./retry-policy.ts";

export interface CrashBisectionDeps {
  engine: Pick<Engine, "model" | "state">;
  store: Pick<Store, "claims">;
  clock: Clock;
  log: Log;
  calmMs: number;
}

/**
 * Deaths of the engine without a finished line in between, after which suspects rest. After one more death all lines rest,
 * and at the next one the engine would be given up.
 */
const DEATHS_BEFORE_REST = RESTART_POLICY.maxDeaths - 2;

/**
 * Finds the line that kills the engine, by bisection. All lines that were in the engine when it died become suspects in two
 * groups. While there are groups, one of them runs at a time, alone. A group that survives is cleared; one in which the
 * engine dies is split again and moves behind the others, so that good halves finish in between. A line fails after
 * `LONE_DEATHS` alone in the engine, and after `SOLE_DEATHS` as its only batch line (counted in store/tables/claims.ts), so a
 * poisonous line beside steady online work ends too. While suspects rest, other lines run. All of this is durable.
 */
export class CrashBisection {
  readonly #deps: CrashBisectionDeps;
  #dead: { line: ClaimedLine; withOthers: boolean }[] = [];
  /** False once the store is known to have no group of this model. */
  #mayExist = true;
  #deathsInRow = 0;
  #readyAt: number;

  constructor(deps: CrashBisectionDeps) {
    this.#deps = deps;
    this.#readyAt = deps.clock.now();
  }

  /** True while the engine has died and not all of its lines are back. */
  get dying(): boolean {
    return this.#dead.length > 0;
  }

  /** Reason that no line at all may run, while one more death in a row would end the engine's restarts; else null. */
  get obstacle(): string | null {
    if (this.#deathsInRow <= DEATHS_BEFORE_REST || !this.#rests) return null;
    return `the engine died ${this.#deathsInRow} times in a row and rests before the next lines run`;
  }

  get #rests(): boolean {
    return this.#deathsInRow >= DEATHS_BEFORE_REST && this.#deps.clock.now() - this.#readyAt < this.#deps.calmMs;
  }

  /** The group to run now, alone; null without suspects, and while suspects wait and other lines may run. */
  async next(): Promise<number | null> {
    if (!this.#mayExist) return null;
    const groups = await this.#deps.store.claims.suspects();
    const own = groups.filter(({ model }) => model === this.#deps.engine.model);
    this.#mayExist = own.length > 0;
    if (this.#rests) return null;
    const nowMs = this.#deps.clock.epochMs();
    const due = own.find(({ dueMs }) => dueMs !== null && isLineDue(dueMs, nowMs));
    return (due ?? own.find(({ running }) => running > 0))?.suspect ?? null;
  }

  died(line: ClaimedLine, { withOthers }: { withOthers: boolean }): void {
    this.#dead.push({ line, withOthers });
  }

  finished(): void {
    this.#deathsInRow = 0;
  }

  engineReady(): void {
    this.#readyAt = this.#deps.clock.now();
  }

  /**
   * Makes the lines suspects; to be called when every line of the dead engine is back, and again after a StoreError. Resolves
   * with the claims whose lines have failed.
   */
  async settle(): Promise<Claim[]> {
    const dead = this.#dead;
    const claims = dead.map(({ line: { batchId, number, attempt } }) => ({ batchId, number, attempt }));
    const withOthers = dead.some((one) => one.withOthers);
    const { failed, suspects } = await this.#deps.store.claims.engineDied({ claims, withOthers, failure: FAILURE });
    this.#dead = [];
    this.#deathsInRow++;
    this.#mayExist = true;
    const about = { model: this.#deps.engine.model, lines: claims.length, failed: failed.length, groups: suspects };
    this.#deps.log.warn(about, "The engine died with batch lines in it; they run again apart from others");
    return failed;
  }
}

const FAILURE = lineError(
  "engine_died",
  "The engine stopped again and again while this request was the only one of a batch in it.",
);
