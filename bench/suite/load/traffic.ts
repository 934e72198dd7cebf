import type { Random } from "../../base/random.ts";
import { gamma } from "./gamma.ts";

/** One request of an open loop. */
export interface Arrival {
  /** Milliseconds from the start of the load. */
  atMs: number;
  prompt: number;
  tokens: number;
}

/** Source of requests: a model of a trace, or a trace itself. */
export interface Traffic {
  /** Description for the report. */
  source: string;
  /** Arrivals of `seconds` seconds with a mean of `rate` per second; lengths in tokens of the source. */
  draw: (rate: number, seconds: number, random: Random) => Arrival[];
}

/** Fractions of the requests at which quantiles of lengths are given. */
const SHARES = [0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1];

interface TrafficModel {
  source: string;
  /** Shape of the gamma distribution of the gaps between arrivals; 1 is a Poisson process. */
  gapShape: number;
  prompt: number[];
  tokens: number[];
}

/**
 * Chat: 19,366 requests of 58 minutes. The gaps' coefficient of variation is 1.094, which is a gamma distribution of
 * shape 1 / 1.094². Lengths are given by quantiles: those of prompts cluster at the lengths of a few products, which no
 * two-parameter family fits. Prompt and output are drawn independently: the correlation of their logarithms is 0.09. A
 * slow drift of the rate is left out (its coefficient of variation over minutes is 0.21), as a run takes less than a
 * minute at a fixed load.
 */
const CHAT: TrafficModel = {
  source:
    "a model of the Azure LLM inference trace 2023, conversations " +
    "(Azure Public Dataset, CC BY 4.0; Patel et al., Splitwise, ISCA 2024)",
  gapShape: 0.835,
  prompt: [2, 29, 181, 207, 396, 1020, 1189, 2734, 4083, 4142, 7400],
  tokens: [7, 16, 41, 54, 85, 129, 395, 424, 451, 601, 1000],
};

export function chatTraffic(): Traffic {
  return {
    source: CHAT.source,
    draw: (rate, seconds, random) => {
      const arrivals: Arrival[] = [];
      for (let atMs = 0; ; ) {
        atMs += (gamma(CHAT.gapShape, random) * 1000) / rate;
        if (atMs >= seconds * 1000) return arrivals;
        arrivals.push({ atMs, prompt: length(CHAT.prompt, random), tokens: length(CHAT.tokens, random) });
      }
    },
  };
}

/** Draws by inversion, linear between two quantiles. */
function length(quantiles: number[], random: Random): number {
  const u = random.next();
  const above = SHARES.findIndex((share) => share > u);
  const [from, to] = [SHARES[above - 1]!, SHARES[above]!];
  const [low, high] = [quantiles[above - 1]!, quantiles[above]!];
  return Math.round(low + ((high - low) * (u - from)) / (to - from));
}

/**
 * The same traffic with lengths divided by `divisor` and cut to a context of `context` tokens. Output has at least two
 * tokens, the least with a gap to measure.
 */
export function scaled(traffic: Traffic, divisor: number, context: number): Traffic {
  return {
    source: `${traffic.source}; lengths ÷ ${divisor}, at most ${context} tokens`,
    draw: (rate, seconds, random) =>
      traffic.draw(rate, seconds, random).map(({ atMs, prompt, tokens }) => {
        const output = Math.min(Math.max(2, Math.round(tokens / divisor)), Math.floor(context / 2));
        return { atMs, tokens: output, prompt: Math.min(Math.max(1, Math.round(prompt / divisor)), context - output) };
      }),
  };
}
