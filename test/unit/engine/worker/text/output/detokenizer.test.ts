import fc from "fast-check";
import { expect, test } from "vitest";
import { Detokenizer } from "../../../../../../engine/worker/text/output/detokenizer.ts";
import { pieces } from "./pieces.ts";

const whole = (bytes: Uint8Array) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);

function detokenized(parts: Uint8Array[]): string {
  const detokenizer = new Detokenizer();
  return parts.map((part) => detokenizer.push(part)).join("") + detokenizer.flush();
}

test("a character split over tokens appears with its last byte", () => {
  const detokenizer = new Detokenizer();
  const bytes = new TextEncoder().encode("😀");
  expect(detokenizer.push(bytes.subarray(0, 2))).toBe("");
  expect(detokenizer.push(new Uint8Array())).toBe("");
  expect(detokenizer.push(bytes.subarray(2, 3))).toBe("");
  expect(detokenizer.push(bytes.subarray(3))).toBe("😀");
  expect(detokenizer.flush()).toBe("");
});

test("an incomplete character at the end becomes U+FFFD once", () => {
  const detokenizer = new Detokenizer();
  expect(detokenizer.push(Uint8Array.of(0x61, 0xf0, 0x9f, 0x98))).toBe("a");
  expect(detokenizer.flush()).toBe("\uFFFD");
  expect(detokenizer.flush()).toBe("");
});

test("an ASCII byte after an incomplete character gives U+FFFD and itself", () => {
  const detokenizer = new Detokenizer();
  expect(detokenizer.push(Uint8Array.of(0xe2, 0x82))).toBe("");
  expect(detokenizer.push(Uint8Array.of(0x41))).toBe("\uFFFDA");
  expect(detokenizer.flush()).toBe("");
});

test("a byte order mark is kept, also in the middle", () => {
  expect(detokenized([Uint8Array.of(0xef, 0xbb), Uint8Array.of(0xbf, 0x61, 0xef, 0xbb, 0xbf)])).toBe("\uFEFFa\uFEFF");
});

test("any bytes in any pieces give the text of all bytes at once", () => {
  const byte = fc.oneof(
    fc.integer({ min: 0, max: 255 }),
    fc.constantFrom(0x41, 0x80, 0xbf, 0xc0, 0xc3, 0xe2, 0xed, 0xa0, 0xef, 0xbb, 0xf0, 0x9f, 0xf4, 0x90, 0xff),
  );
  const text = fc.string({ unit: "binary" }).map((string) => [...new TextEncoder().encode(string)]);
  const bytes = fc
    .array(
      fc.oneof(
        byte.map((one) => [one]),
        text,
      ),
    )
    .map((parts) => Uint8Array.from(parts.flat()));
  fc.assert(
    fc.property(bytes, fc.array(fc.nat({ max: 5 })), (all, lengths) => {
      expect(detokenized(pieces(all, lengths))).toBe(whole(all));
    }),
    { numRuns: 500 },
  );
});
