import fc from "fast-check";
import { expect, test } from "vitest";
import { respondAsync } from "../../../../server/http/prefer-header.ts";

test.each<[string | string[] | undefined, ReturnType<typeof respondAsync>]>([
  [undefined, null],
  ["", null],
  ["wait=10", null],
  ['return=minimal; foo="respond-async"', null],
  ['foo="a, respond-async"', null],
  ["respond-async", { waitMs: null }],
  ["Respond-Async", { waitMs: null }],
  ['respond-async=""', { waitMs: null }],
  ["respond-async, wait=10", { waitMs: 10_000 }],
  ["wait = 10 , respond-async;x=y", { waitMs: 10_000 }],
  [["handling=lenient", 'respond-async, wait="0"'], { waitMs: 0 }],
  ["respond-async, wait=5, wait=9", { waitMs: 5000 }],
  ["respond-async, wait=999999999", { waitMs: 86_400_000 }],
  ["respond-async, wait=soon", { waitMs: null }],
  ["respond-async, wait=-1", { waitMs: null }],
  ["respond-async, wait=99999999999", { waitMs: null }],
])("%j", (header, expected) => {
  expect(respondAsync(header)).toEqual(expected);
});

test("any header is parsed without an error", () => {
  fc.assert(
    fc.property(fc.string(), (header) => {
      expect([null, "object"]).toContain(respondAsync(header) === null ? null : typeof respondAsync(header));
    }),
  );
});
