export interface RestartPolicy {
  firstMs: number;
  capMs: number;
  /** Serving for this long makes the past forgotten. */
  healthyMs: number;
  /** Deaths in a row after which the engine is given up. */
  maxDeaths: number;
  /** Processes that may die before the model was ever ready. */
  maxLoads: number;
  /** The backoff after a load that came to nothing. */
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
