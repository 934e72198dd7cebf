import type { Log } from "../../platform/log.ts";
import type { EngineObserver } from "../engine.ts";
import { RESTART_POLICY, type RestartPolicy } from "../restart-policy.ts";
import { WORKER } from "./measurement.ts";

export interface LocalEngineDeps {
  observer: EngineObserver;
  log: Log;
  /** The engine process's script. */
  entry?: URL | string;
  /** Unloaded: nothing is loaded before load() is called. */
  first?: "loading" | "unloaded";
  /** With requests pending and no word from the process for this long, it is killed. One step must fit into it. */
  hangTimeoutMs?: number;
  /** The same while a model loads, counted from the last progress. */
  loadTimeoutMs?: number;
  /** How long close() waits for the process to end by itself. */
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
