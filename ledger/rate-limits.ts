import { ApiError } from "../openapi/api-error.ts";
import { goDuration } from "./go-duration.ts";
import type { Key } from "./key.ts";
import { TokenBucket } from "./token-bucket.ts";

/** The limit of a key that a request exceeded. */
export type RateLimit = "requests" | "tokens" | "concurrent";

/** A rejection by a key's limits. */
export class RateLimited extends ApiError {
  readonly limit: RateLimit;

  constructor(limit: RateLimit, message: string, waitMs: number) {
    const never = waitMs === Number.POSITIVE_INFINITY;
    super("rate_limit_exceeded", message, never ? {} : { retryAfter: Math.max(1, Math.ceil(waitMs)) / 1000 });
    this.limit = limit;
  }
}

/** Estimated tokens of a request: its prompt, and its answers up to their limits. */
export interface Expected {
  promptTokens: number;
  answerTokens: number;
}

interface Buckets {
  requests: TokenBucket;
  tokens: TokenBucket;
}

/** Most buckets; beyond it the least recently used is dropped. */
const MAX_BUCKETS = 10_000;
/** A fixed guess, because the end of a running request is unknown. */
const CONCURRENT_WAIT_MS = 1000;

/**
 * Requests and tokens per minute of each key and model, and concurrent requests of each key. They are in memory only: a
 * restart gives every key a full minute.
 */
export class RateLimits {
  readonly #now: () => number;
  readonly #buckets = new Map<string, Buckets>();
  readonly #running = new Map<string, number>();

  /** `now`: milliseconds, monotonic. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Throws RateLimited, and takes nothing then. */
  enter(key: Key, model: string, { promptTokens, answerTokens }: Expected): RateLimitPass {
    const { requestsPerMinute, tokensPerMinute, concurrent } = key.limits;
    const running = this.#running.get(key.id) ?? 0;
    if (concurrent !== null && running >= concurrent) {
      const message = `The key has ${running} concurrent requests; its limit is ${concurrent}.`;
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
      const remedy = tooLarge ? "Shorten its prompt, or ask for fewer tokens with max_tokens." : advice(waitMs);
      throw new RateLimited("tokens", `${limit} ${remedy}`, waitMs);
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

  /** Rate limit headers in OpenAI's form for a response at this moment; a limit that is not set has none. */
  headers(key: Key, model: string): Record<string, string> {
    const headers: Record<string, string> = {};
    for (const { unit, limit, remaining, resetMs } of this.#states(key, model)) {
      headers[`x-ratelimit-limit-${unit}`] = String(limit);
      headers[`x-ratelimit-remaining-${unit}`] = String(remaining);
      headers[`x-ratelimit-reset-${unit}`] = goDuration(resetMs);
    }
    return headers;
  }

  /**
   * The same in Anthropic's form, where a limit resets at a point in time.
   *
   * @param epochMs the time in milliseconds since 1970
   */
  anthropicHeaders(key: Key, model: string, epochMs: number): Record<string, string> {
    const headers: Record<string, string> = {};
    for (const { unit, limit, remaining, resetMs } of this.#states(key, model)) {
      headers[`anthropic-ratelimit-${unit}-limit`] = String(limit);
      headers[`anthropic-ratelimit-${unit}-remaining`] = String(remaining);
      headers[`anthropic-ratelimit-${unit}-reset`] = new Date(epochMs + resetMs).toISOString();
    }
    return headers;
  }

  /** The limits that are set, at this moment. */
  #states({ id, limits }: Key, model: string) {
    const buckets = this.#buckets.get(`${id} ${model}`);
    const now = this.#now();
    const state = (unit: "requests" | "tokens", limit: number | null) => {
      if (limit === null) return [];
      const bucket = buckets?.[unit] ?? new TokenBucket();
      return [{ unit, limit, remaining: bucket.remaining(limit, now), resetMs: bucket.resetMs(limit, now) }];
    };
    return [...state("requests", limits.requestsPerMinute), ...state("tokens", limits.tokensPerMinute)];
  }

  #leave(id: string): void {
    const running = (this.#running.get(id) ?? 1) - 1;
    if (running > 0) this.#running.set(id, running);
    else this.#running.delete(id);
  }

  #bucketsOf(name: string): Buckets {
    const known = this.#buckets.get(name);
    if (known !== undefined) {
      // The least recently used is at the front.
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
    if (this.#buckets.size < MAX_BUCKETS) return;
    const [oldest] = this.#buckets.keys();
    if (oldest !== undefined) this.#buckets.delete(oldest);
  }
}

/** An admitted request; it must be left once, however it ends. */
export class RateLimitPass {
  readonly #expected: number;
  readonly #ends: { settle(tokens: number, requests: number): void; leave(): void };
  #ended = false;

  constructor(expected: number, ends: { settle(tokens: number, requests: number): void; leave(): void }) {
    this.#expected = expected;
    this.#ends = ends;
  }

  /** Settles an ended request; further calls do nothing. */
  leave(usedTokens: number): void {
    this.#end(usedTokens, 0);
  }

  /** Removes a request that was not served from all counts. */
  undo(): void {
    this.#end(0, -1);
  }

  #end(usedTokens: number, requests: number): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#ends.settle(usedTokens - this.#expected, requests);
    this.#ends.leave();
  }
}

function advice(waitMs: number): string {
  return `Try again in ${Math.ceil(waitMs / 1000)} s.`;
}
