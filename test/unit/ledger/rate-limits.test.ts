import { describe, expect, it } from "vitest";
import { ENVIRONMENT_KEY, type Key, type KeyLimits } from "../../../ledger/key.ts";
import { RateLimited, RateLimits } from "../../../ledger/rate-limits.ts";

function keyWith(limits: Partial<KeyLimits>, id = "key_a"): Key {
  return { ...ENVIRONMENT_KEY, id, limits: { ...ENVIRONMENT_KEY.limits, ...limits } };
}

const ASK = { promptTokens: 10, answerTokens: 20 };

function refusal(run: () => unknown): RateLimited {
  try {
    run();
  } catch (error) {
    if (error instanceof RateLimited) return error;
    throw error;
  }
  throw new Error("it was let in");
}

describe("the limits of a key", () => {
  it("count requests per model and per key", () => {
    const limits = new RateLimits(() => 0);
    const key = keyWith({ requestsPerMinute: 2 });
    limits.enter(key, "a", ASK).leave(30);
    limits.enter(key, "a", ASK).leave(30);
    const { status, code, retryAfter, limit, message } = refusal(() => limits.enter(key, "a", ASK));
    expect(message).toMatch(/requests per minute: 2\. Try again in 30 s\.$/);
    expect({ status, code, retryAfter, limit }).toEqual({
      status: 429,
      code: "rate_limit_exceeded",
      retryAfter: 30,
      limit: "requests",
    });
    limits.enter(key, "b", ASK);
    limits.enter(keyWith({ requestsPerMinute: 2 }, "key_b"), "a", ASK);
  });

  it("reserve and settle tokens; a rejection for tokens uses no request", () => {
    const limits = new RateLimits(() => 0);
    const key = keyWith({ requestsPerMinute: 3, tokensPerMinute: 50 });
    const first = limits.enter(key, "a", ASK);
    expect(refusal(() => limits.enter(key, "a", ASK)).limit).toBe("tokens");
    first.leave(12);
    limits.enter(key, "a", ASK);
    expect(limits.headers(key, "a")).toEqual({
      "x-ratelimit-limit-requests": "3",
      "x-ratelimit-remaining-requests": "1",
      "x-ratelimit-reset-requests": "40s",
      "x-ratelimit-limit-tokens": "50",
      "x-ratelimit-remaining-tokens": "8",
      "x-ratelimit-reset-tokens": "50.4s",
    });
  });

  it("mark a request above a whole minute as not worth a retry", () => {
    const limits = new RateLimits(() => 0);
    const { retryAfter, shouldRetry } = refusal(() => limits.enter(keyWith({ tokensPerMinute: 29 }), "a", ASK));
    expect({ retryAfter, shouldRetry }).toEqual({ retryAfter: undefined, shouldRetry: false });
  });

  it("bound concurrent requests over all models and count each end once", () => {
    const limits = new RateLimits(() => 0);
    const key = keyWith({ concurrent: 2 });
    const pass = limits.enter(key, "a", ASK);
    limits.enter(key, "b", ASK);
    expect(refusal(() => limits.enter(key, "a", ASK)).limit).toBe("concurrent");
    pass.leave(30);
    pass.leave(30);
    pass.undo();
    limits.enter(key, "a", ASK);
    expect(refusal(() => limits.enter(key, "a", ASK)).limit).toBe("concurrent");
  });

  it("do not count an undone request", () => {
    const limits = new RateLimits(() => 0);
    const key = keyWith({ requestsPerMinute: 1, tokensPerMinute: 30 });
    limits.enter(key, "a", ASK).undo();
    limits.enter(key, "a", ASK);
  });

  it("have no headers where they are not set", () => {
    expect(new RateLimits(() => 0).headers(keyWith({}), "a")).toEqual({});
  });
});
