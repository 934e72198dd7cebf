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

/** Deaths with no line finished in between, after which suspects rest: after one more, all lines do, and at the next one the engine is given up. */
const RESTLESS_DEATHS = RESTART_POLICY.maxDeaths - 2;

/**
 * Finds the line that kills the engine. All that were in it when it died become suspects in two groups; while there are
 * groups, one of them runs at a time, alone. A group that survives is cleared, one that dies is split again, and takes
 * its place behind the others: so good halves finish in between. A line that was alone for `LONE_DEATHS` fails, and so does
 * one that was the only batch line for `SOLE_DEATHS` (store/tables/claims.ts counts): a poison beside steady online work ends too. While suspects
 * rest, lines that nothing is held against run. Nothing of this is lost when the server ends.
 */
export class CrashBisection {
  readonly #deps: CrashBisectionDeps;
  #dead: { line: ClaimedLine; withOthers: boolean }[] = [];
  /** False: the store has no group of this model for sure. */
  #mayExist = true;
  #deathsInRow = 0;
  #readyAt: number;

  constructor(deps: CrashBisectionDeps) {
    this.#deps = deps;
    this.#readyAt = deps.clock.now();
  }

  /** The engine died, and not all of its lines are back. */
  get dying(): boolean {
    return this.#dead.length > 0;
  }

  /** Why no line at all may run: one more death in a row would be one too many. */
  get obstacle(): string | null {
    if (this.#deathsInRow <= RESTLESS_DEATHS || !this.#rests) return null;
    return `the engine died ${this.#deathsInRow} times in a row and rests before the next lines run`;
  }

  get #rests(): boolean {
    return this.#deathsInRow >= RESTLESS_DEATHS && this.#deps.clock.now() - this.#readyAt < this.#deps.calmMs;
  }

  /** The group to run now, alone; null when nothing is suspected, or what is must wait and others may run. */
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

  /** To be called when every line that was in the dead engine is back; again after a StoreError. Returns the claims that failed by it. */
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
