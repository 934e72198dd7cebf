import { describe, expect, it, test } from "vitest";
import { ApiError } from "../../../openapi/api-error.ts";
import { ERRORS, type ErrorKey } from "../../../openapi/errors.ts";

const keys = Object.keys(ERRORS) as ErrorKey[];

describe("an ApiError", () => {
  it("has status, type and code of its entry", () => {
    for (const key of keys) {
      const { status, type, code } = ERRORS[key];
      expect(new ApiError(key, "No.")).toMatchObject({ key, status, type, code, param: null });
    }
  });

  it("that may be sent again later always has a Retry-After", () => {
    const later = keys.filter((key) => ERRORS[key].retry === "later");
    expect(later.length).toBeGreaterThan(5);
    for (const key of later) expect(new ApiError(key, "Wait."), key).toMatchObject({ retryAfter: 1 });
    expect(new ApiError("store_busy", "Wait.", { retryAfter: 5 }).retryAfter).toBe(5);
  });

  test.each<[ErrorKey, number | undefined, false | undefined]>([
    ["file_in_use", undefined, false],
    ["not_found", undefined, undefined],
    ["internal_error", undefined, undefined],
    ["rate_limit_exceeded", undefined, false],
    ["rate_limit_exceeded", 3, undefined],
    ["storage_quota_exceeded", undefined, false],
  ])("%s with Retry-After %s has the retry hint %s", (key, retryAfter, shouldRetry) => {
    expect(new ApiError(key, "No.", { retryAfter }).shouldRetry).toBe(shouldRetry);
  });

  it("has all four keys in its body", () => {
    expect(Object.keys(new ApiError("not_found", "No.").body.error)).toEqual(["message", "type", "param", "code"]);
  });
});

describe("the catalogue", () => {
  it("is in the order of the statuses", () => {
    const statuses = Object.values(ERRORS).map(({ status }) => status);
    expect(statuses).toEqual([...statuses].sort((a, b) => a - b));
  });

  it("names no code twice with one status and type", () => {
    const names = Object.values(ERRORS)
      .filter(({ codeFrom }) => codeFrom === null)
      .map(({ status, type, code }) => `${status} ${type} ${code}`);
    expect(new Set(names).size).toBe(names.length);
  });
});
