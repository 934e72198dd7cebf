import { ApiError } from "../openapi/api-error.ts";
import { goDuration } from "./go-duration.ts";
import type { Key } from "./key.ts";
import { TokenBucket } from "./token-bucket.ts";

/** What of a key's limits a request met. */
export type RateLimit = "requests" | "tokens" | "concurrent";

/** A refusal by a key's limits. */
export class RateLimited extends ApiError {
  readonly limit: RateLimit;

  constructor(limit: RateLimit, message: string, waitMs: number) {
    const never = waitMs === Number.POSITIVE_INFINITY;
    super("rate_limit_exceeded", message, never ? {} : { retryAfter: Math.max(1, Math.ceil(waitMs)) / 1000 });
    this.limit = limit;
  }
}

/** What a request will take: its prompt, and its answers as far as they go. */
export interface Expected {
  promptTokens: number;
  answerTokens: number;
}

interface Buckets {
  requests: TokenBucket;
  tokens: TokenBucket;
}

/** One more, and those that were used longest ago are forgotten. */
const MOST_BUCKETS = 10_000;
/** Tells nothing about when a running request ends. */
const CONCURRENT_WAIT_MS = 1000;

/**
 * Requests and tokens a minute of each key on each model, and how many requests of a key run. In memory alone: a restart
 * gives everyone a full minute.
 */
export class RateLimits {
  readonly #now: () => number;
  readonly #buckets = new Map<string, Buckets>();
  readonly #running = new Map<string, number>();

  /** `now`: milliseconds, monotonic. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Throws RateLimited; then nothing is taken. */
  enter(key: Key, model: string, { promptTokens, answerTokens }: Expected): RateLimitPass {
    const { requestsPerMinute, tokensPerMinute, concurrent } = key.limits;
    const running = this.#running.get(key.id) ?? 0;
    if (concurrent !== null && running >= concurrent) {
      const message = `The key has ${running} requests running, and at most ${concurrent} may.`;
      throw new RateLimited("concurrent", message, CONCURRENT_WAIT_MS);
    }
    const buckets = this.#bucketsOf(`${key.id} ${model}`);
    const now = this.#now();
    const expected = promptTokens + answerTokens;
    if (requestsPerMinute !== null && !buckets.requests.take(1, requestsPerMinute, now)) {
      const waitMs = buckets.requests.waitMs(1, requestsPerMinute, now);
      const limit = `Rate limit reached for '${model}' on requests per minute: ${requestsPerMinute}.`;
      throw new RateLimited("requests", `${limit} ${advice(waitMs)}`, waitMs);
    }
    if (tokensPerMinute !== null && !buckets.tokens.take(expected, tokensPerMinute, now)) {
      if (requestsPerMinute !== null) buckets.requests.correct(-1, now);
      const waitMs = buckets.tokens.waitMs(expected, tokensPerMinute, now);
      const tooLarge = expected > tokensPerMinute;
      const reached = tooLarge ? "The request is too large" : "Rate limit reached";
      const limit = `${reached} for '${model}' on tokens per minute: limit ${tokensPerMinute}, requested ${expected}.`;
      const say = tooLarge ? "Shorten its prompt, or ask for fewer tokens with max_tokens." : advice(waitMs);
      throw new RateLimited("tokens", `${limit} ${say}`, waitMs);
    }
    this.#running.set(key.id, running + 1);
    return new RateLimitPass(expected, {
      settle: (difference, requests) => {
        const at = this.#now();
        if (tokensPerMinute !== null) buckets.tokens.correct(difference, at);
        if (requestsPerMinute !== null) buckets.requests.correct(requests, at);
      },
      leave: () => this.#leave(key.id),
    });
  }

  /** What OpenAI's clients read, for a response of now; a limit that there is not has no headers. */
  headers({ id, limits }: Key, model: string): Record<string, string> {
    const buckets = this.#buckets.get(`${id} ${model}`);
    const headers: Record<string, string> = {};
    const now = this.#now();
    const tell = (unit: "requests" | "tokens", limit: number | null) => {
      if (limit === null) return;
      const bucket = buckets?.[unit] ?? new TokenBucket();
      headers[`x-ratelimit-limit-${unit}`] = String(limit);
      headers[`x-ratelimit-remaining-${unit}`] = String(bucket.remaining(limit, now));
      headers[`x-ratelimit-reset-${unit}`] = goDuration(bucket.resetMs(limit, now));
    };
    tell("requests", limits.requestsPerMinute);
    tell("tokens", limits.tokensPerMinute);
    return headers;
  }

  #leave(id: string): void {
    const running = (this.#running.get(id) ?? 1) - 1;
    if (running > 0) this.#running.set(id, running);
    else this.#running.delete(id);
  }

  #bucketsOf(name: string): Buckets {
    const known = this.#buckets.get(name);
    if (known !== undefined) {
      // The oldest in use stand at the front.
      this.#buckets.delete(name);
      this.#buckets.set(name, known);
      return known;
    }
    this.#forget();
    const fresh = { requests: new TokenBucket(), tokens: new TokenBucket() };
    this.#buckets.set(name, fresh);
    return fresh;
  }

  #forget(): void {
    if (this.#buckets.size < MOST_BUCKETS) return;
    const [oldest] = this.#buckets.keys();
    if (oldest !== undefined) this.#buckets.delete(oldest);
  }
}

/** A request within its key's limits; to be left once, however it ends. */
export class RateLimitPass {
  readonly #expected: number;
  readonly #ends: { settle(tokens: number, requests: number): void; leave(): void };
  #over = false;

  constructor(expected: number, ends: { settle(tokens: number, requests: number): void; leave(): void }) {
    this.#expected = expected;
    this.#ends = ends;
  }

  /** It ended and used so many tokens; further calls do nothing. */
  leave(usedTokens: number): void {
    this.#end(usedTokens, 0);
  }

  /** It was not served: as if it had never come. */
  undo(): void {
    this.#end(0, -1);
  }

  #end(usedTokens: number, requests: number): void {
    if (this.#over) return;
    this.#over = true;
    this.#ends.settle(usedTokens - this.#expected, requests);
    this.#ends.leave();
  }
}

function advice(waitMs: number): string {
  return `Try again in ${Math.ceil(waitMs / 1000)} s.`;
}
