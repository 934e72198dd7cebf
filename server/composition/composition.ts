import type { Registry } from "prom-client";
import type { Validate } from "../../batch/validation/validation-job.ts";
import type { ValidationProcessOptions } from "../../batch/validation/validation-process.ts";
import type { startLocalEngine } from "../../engine/client/local-engine.ts";
import type { measureModel } from "../../engine/client/measurement.ts";
import type { Clock } from "../../platform/clock.ts";
import type { LiveValue } from "../../platform/live-value.ts";
import type { Log } from "../../platform/log.ts";
import type { openStore } from "../../store/store.ts";
import type { Grammars } from "../grammar/grammar-compiler.ts";
import type { Parts } from "../lifecycle/parts.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { ProgressTerminal } from "../models/download-progress.ts";
import type { Options } from "../options/table.ts";
import type { FixedBounds } from "./fixed-bounds.ts";

/** The parts of a server from outside of its own code: the process gives the real ones, tests give fakes. */
export interface Leaves {
  clock: Clock;
  /** In [0, 1). */
  random: () => number;
  /** 16 or more unguessable characters of [A-Za-z0-9], new on every call; becomes part of ids such as `chatcmpl-…`. */
  randomId: () => string;
  env: Readonly<Record<string, string | undefined>>;
  log: Log;
  registry: Registry;
  /** The server's version, for /health and /openapi.json. */
  version: string;
  /** Output of download bars. */
  terminal: ProgressTerminal;
  /** Prints what must not be in the log: the first API key. */
  print(text: string): void;
  openStore: typeof openStore;
  startEngine: typeof startLocalEngine;
  measure: typeof measureModel;
  openGrammars(): Grammars & { stop(): Promise<void> };
  openValidation(options: ValidationProcessOptions): { validate: Validate; stop(): Promise<void> };
  shutdown: {
    /** True once the server is to shut down: /ready is 503. */
    readonly begun: boolean;
    /** True once new generations are refused for it. */
    readonly draining: boolean;
  };
  bounds: FixedBounds;
}

/** Values that all parts of one server share. */
export interface Composition extends Leaves {
  options: LiveValue<Options>;
  metrics: Metrics;
  parts: Parts;
}
