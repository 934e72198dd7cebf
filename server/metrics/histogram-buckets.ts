/**
 * Upper bounds in seconds. Each objective that an operator is likely to set (0.2, 0.5, 1, 1.5, 2 s to the first token;
 * 10, 20, 30, 50, 100 ms between tokens) is a bound, so that "share within the objective" is exact and not interpolated.
 */
export const FIRST_TOKEN_BUCKETS = [
  0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 1.5, 2, 3, 5, 7.5, 10, 15, 20, 30, 60, 90, 120,
];

export const INTER_TOKEN_BUCKETS = [
  0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2, 5,
];

export const DURATION_BUCKETS = [
  0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 1.5, 2, 3, 5, 10, 20, 30, 60, 120, 180, 300, 600, 1200, 3600,
];

export const QUEUE_BUCKETS = [
  0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.075, 0.1, 0.2, 0.5, 1, 1.5, 2, 5, 10, 20, 30, 60,
  120, 300, 600,
];

export const STEP_BUCKETS = [
  0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.075, 0.1, 0.2, 0.5, 1, 2, 5,
];

/** Seconds of the parts of a step: host work takes microseconds, the decode up to seconds. */
export const STEP_PART_BUCKETS = [
  0.00001, 0.00002, 0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5,
];

/** Sequences in the plan of one step. */
export const BATCH_SIZE_BUCKETS = [1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256];

/** Ratio |measured − predicted| ÷ measured. */
export const MODEL_ERROR_BUCKETS = [0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2, 5, 10];
