import type { StepCosts } from "./step-costs.ts";
import type { Arrival } from "./traffic.ts";

export interface OracleRules {
  /** Sequences at once. */
  sequences: number;
  /** Most prompt tokens of a step. */
  stepTokens: number;
  /** How much longer batch work may make a step that has online work, as a share. */
  tax: number;
  /** Most milliseconds of a step with batch work alone. */
  batchStepMs: number;
  /** Objective between two tokens of an online stream: it bounds the chunk of a prompt beside streams. */
  itlMs: number;
  /** Whether decodes and a chunk are two passes over the weights, as in a split cache. */
  twoPasses: boolean;
}

/** Of every batch line; there is no end of them. */
export interface LineShape {
  prompt: number;
  tokens: number;
}

export interface OracleResult {
  /** Batch tokens generated within the time. */
  batchTokens: number;
  /** Share of the time that online work alone would have taken. */
  onlineShare: number;
}

interface Running {
  prompt: number;
  tokens: number;
}

/** A chunk that is worth a step although streams miss their objective. */
const LEAST_CHUNK = 16;
const LEAST_STEP_MS = 0.01;

/**
 * What a scheduler gets done that knows the cost of every step exactly, takes no time of its own between two of them,
 * parks and resumes for nothing and never runs out of lines, under the same bounds: with online work a step is at most
 * `tax` longer than without batch work and never past `itlMs`, without any it takes at most `batchStepMs`. Online work
 * runs as it would alone. Steps are simulated one by one: in one with online work batch decodes ride as far as they
 * fit; one without reads batch prompts until as many lines decode as fit into a step, then decodes them.
 */
export function oracle(
  costs: StepCosts,
  rules: OracleRules,
  line: LineShape,
  arrivals: readonly Arrival[],
  seconds: number,
): OracleResult {
  const end = seconds * 1000;
  const online: Running[] = [];
  const batch: Running[] = [];
  const pass = rules.twoPasses ? costs.fixed : 0;
  const price = (decodes: number, chunk: number) =>
    costs.fixed + costs.decode * decodes + costs.prefill * chunk + (decodes > 0 && chunk > 0 ? pass : 0);
  const mostDecodes = Math.max(1, Math.floor((rules.batchStepMs - costs.fixed) / costs.decode));
  let reading = 0;
  let next = 0;
  let now = 0;
  let onlineMs = 0;
  let batchTokens = 0;

  const decodeBatch = (count: number) => {
    // the first lines go on first, so that some end soon
    for (const running of batch.slice(0, count)) running.tokens--;
    batchTokens += count;
    for (let i = batch.length - 1; i >= 0; i--) if (batch[i]!.tokens <= 0) batch.splice(i, 1);
  };
  const onlineStep = () => {
    const decoding = online.filter(({ prompt }) => prompt === 0);
    const left = rules.itlMs - price(decoding.length, 1);
    const room = decoding.length === 0 ? rules.stepTokens : Math.floor(left / costs.prefill);
    let chunk = Math.min(rules.stepTokens, Math.max(LEAST_CHUNK, room));
    const budget = chunk;
    for (const request of online) {
      if (request.prompt === 0) continue;
      const part = Math.min(chunk, request.prompt);
      request.prompt -= part;
      chunk -= part;
      // the end of the prompt brings the first token
      if (request.prompt === 0) request.tokens--;
    }
    const read = budget - chunk;
    const alone = price(decoding.length, read);
    const cap = Math.min(alone * (1 + rules.tax), Math.max(alone, rules.itlMs));
    let riders = Math.min(batch.length, rules.sequences - online.length);
    while (riders > 0 && price(decoding.length + riders, read) > cap) riders--;
    for (const request of decoding) request.tokens--;
    decodeBatch(Math.max(0, riders));
    for (let i = online.length - 1; i >= 0; i--) {
      if (online[i]!.prompt === 0 && online[i]!.tokens <= 0) online.splice(i, 1);
    }
    onlineMs += alone;
    return price(decoding.length + Math.max(0, riders), read);
  };
  const batchStep = () => {
    if (batch.length < Math.min(mostDecodes, rules.sequences)) {
      const fits = Math.floor((rules.batchStepMs - costs.fixed) / costs.prefill);
      const chunk = Math.max(1, Math.min(rules.stepTokens, fits));
      for (reading += chunk; reading >= line.prompt; reading -= line.prompt) {
        batch.push({ prompt: 0, tokens: line.tokens - 1 });
        batchTokens++;
      }
      return price(0, chunk);
    }
    const count = Math.min(mostDecodes, batch.length);
    decodeBatch(count);
    return price(count, 0);
  };

  while (now < end) {
    for (; next < arrivals.length && arrivals[next]!.atMs <= now && online.length < rules.sequences; next++) {
      online.push({ prompt: arrivals[next]!.prompt, tokens: arrivals[next]!.tokens });
    }
    // a fit of noise may say that a step costs nothing; time goes on all the same
    now += Math.max(LEAST_STEP_MS, online.length > 0 ? onlineStep() : batchStep());
  }
  return { batchTokens, onlineShare: onlineMs / now };
}
