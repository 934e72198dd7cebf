import fc from "fast-check";
import { expect, it, test } from "vitest";
import { requestedWaitMs } from "../../../../../engine/upstream/answer/requested-wait.ts";

const NOW = Date.UTC(2026, 10, 24, 6, 0, 0);
const inSeconds = (seconds: number) => new Date(NOW + seconds * 1000).toUTCString();
const waitOf = (headers: Record<string, string>) => requestedWaitMs((name) => headers[name] ?? null, NOW);

test.each<[Record<string, string>, number | null]>([
  [{}, null],
  [{ "retry-after": "7" }, 7000],
  [{ "retry-after": "0.5" }, 500],
  [{ "retry-after": "0" }, 0],
  [{ "retry-after": "3600" }, 60_000],
  [{ "retry-after": inSeconds(20) }, 20_000],
  [{ "retry-after": inSeconds(-20) }, 0],
  [{ "retry-after": "soon" }, null],
  [{ "retry-after": "-3" }, null],
  [{ "retry-after": "2", "retry-after-ms": "1500" }, 1500],
  [{ "x-ratelimit-reset-requests": "20ms" }, 20],
  [{ "x-ratelimit-reset-tokens": "7.66s" }, 7660],
  [{ "x-ratelimit-reset-tokens": "0m12s" }, 12_000],
  [{ "x-ratelimit-reset-tokens": "6m0s" }, 60_000],
  [{ "x-ratelimit-reset-requests": "9s", "x-ratelimit-reset-tokens": "4s" }, 9000],
  [
    {
      "x-ratelimit-reset-requests": "9s",
      "x-ratelimit-remaining-requests": "12",
      "x-ratelimit-reset-tokens": "4s",
      "x-ratelimit-remaining-tokens": "0",
    },
    4000,
  ],
  [{ "x-ratelimit-reset": "11" }, 11_000],
  [{ "x-ratelimit-reset": String(NOW / 1000 + 5) }, 5000],
  [{ "x-ratelimit-reset": String(NOW + 5000) }, 5000],
])("%j is a wait of %s ms", (headers, expected) => {
  expect(waitOf(headers)).toBe(expected);
});

it("is null, or 0 to a minute, for any values", () => {
  const value = fc.oneof(fc.string(), fc.integer().map(String), fc.double().map(String), fc.date().map(String));
  fc.assert(
    fc.property(value, value, value, (after, reset, limit) => {
      const wait = waitOf({ "retry-after": after, "x-ratelimit-reset": reset, "x-ratelimit-reset-tokens": limit });
      expect(wait === null || (wait >= 0 && wait <= 60_000)).toBe(true);
    }),
  );
});
