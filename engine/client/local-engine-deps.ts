import type { Log } from "../../platform/log.ts";
import type { EngineObserver } from "../engine.ts";
import { RESTART_POLICY, type RestartPolicy } from "../restart-policy.ts";
import { WORKER } from "./measurement.ts";

export interface LocalEngineDeps {
  observer: EngineObserver;
  log: Log;
  /** The engine process's script. */
  entry?: URL | string;
  /** The first state; unloaded waits for load(). */
  first?: "loading" | "unloaded";
  /** Milliseconds without a message, with requests in flight, after which the process is killed. Longer than any step. */
  hangTimeoutMs?: number;
  /** The same while a model loads, since the last progress. */
  loadTimeoutMs?: number;
  /** Milliseconds that close() leaves the process to end by itself. */
  closeGraceMs?: number;
  restart?: RestartPolicy;
  /** Milliseconds of a clock that never goes back. */
  now?: () => number;
}

export const DEFAULT_DEPS: Required<Omit<LocalEngineDeps, "observer" | "log">> = {
  entry: WORKER,
  first: "loading",
  hangTimeoutMs: 120_000,
  loadTimeoutMs: 600_000,
  closeGraceMs: 2000,
  restart: RESTART_POLICY,
  now: () => performance.now(),
};
