/** Bounds of an engine's restarts; durations in milliseconds. */
export interface RestartPolicy {
  /** The backoff after the first death; it doubles with each further one. */
  firstMs: number;
  capMs: number;
  /** Time of serving after which earlier deaths no longer count. */
  healthyMs: number;
  /** Deaths in a row at which the engine fails. */
  maxDeaths: number;
  /** Deaths during a load, before the model was ever ready, at which the load fails. */
  maxLoads: number;
  /** The backoff after a failed load. */
  firstReloadMs: number;
  capReloadMs: number;
}

export const RESTART_POLICY: RestartPolicy = {
  firstMs: 250,
  capMs: 30_000,
  healthyMs: 60_000,
  maxDeaths: 5,
  maxLoads: 2,
  firstReloadMs: 5000,
  capReloadMs: 300_000,
};
