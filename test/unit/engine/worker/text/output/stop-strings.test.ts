import fc from "fast-check";
import { expect, test } from "vitest";
import { StopMatcher } from "../../../../../../engine/worker/text/output/stop-strings.ts";
import { pieces } from "./pieces.ts";

/** The plain rule: read one more character, check whether the text ends with a stop string. */
function reference(text: string, stops: string[], armedFrom = 0): { text: string; stopped: boolean } {
  for (let end = 1; end <= text.length; end += 1) {
    if (end <= armedFrom) continue;
    const lengths = stops.filter((stop) => stop !== "" && text.slice(0, end).endsWith(stop)).map((stop) => stop.length);
    if (lengths.length > 0) return { text: text.slice(0, end - Math.max(...lengths)), stopped: true };
  }
  return { text, stopped: false };
}

function matched(parts: string[], stops: string[], armedFrom = 0): { text: string; stopped: boolean } {
  const matcher = new StopMatcher(stops);
  let text = "";
  let end = 0;
  for (const part of parts) {
    end += part.length;
    text += matcher.push(part, end > armedFrom);
  }
  return { text: text + matcher.flush(), stopped: matcher.stopped };
}

test("without stop strings text passes through", () => {
  const matcher = new StopMatcher([]);
  expect(matcher.push("anything")).toBe("anything");
  expect(matcher.flush()).toBe("");
});

test("a stop string over three pushes ends the text before it", () => {
  const matcher = new StopMatcher(["STOP"]);
  expect(matcher.push("go S")).toBe("go ");
  expect(matcher.push("TO")).toBe("");
  expect(matcher.push("P and on")).toBe("");
  expect(matcher.stopped).toBe(true);
  expect(matcher.after).toBe(" and on");
  expect(matcher.push("more")).toBe("");
  expect(matcher.flush()).toBe("");
});

test("only the longest end that may begin a stop string is held back", () => {
  const matcher = new StopMatcher(["\n\nUser:", "ab"]);
  expect(matcher.push("x\n\n\n")).toBe("x\n");
  expect(matcher.push("y")).toBe("\n\ny");
  expect(matcher.push("aa")).toBe("a");
  expect(matcher.flush()).toBe("a");
});

test("of two stop strings that end together the longer counts", () => {
  expect(matched(["one two"], ["two", "one two"])).toEqual({ text: "", stopped: true });
});

test("a stop string inside a longer one stops at once", () => {
  expect(matched(["abcdef"], ["abcdef", "cd"])).toEqual({ text: "ab", stopped: true });
});

test("an empty stop string stops nothing", () => {
  expect(matched(["abc"], [""])).toEqual({ text: "abc", stopped: false });
});

test("text before min_tokens stops nothing but may begin a stop string", () => {
  const matcher = new StopMatcher(["END"]);
  expect(matcher.push("END E", false)).toBe("END ");
  expect(matcher.stopped).toBe(false);
  expect(matcher.push("ND", true)).toBe("");
  expect(matcher.stopped).toBe(true);
});

test("arbitrary splits give the result of the whole text", () => {
  const letters = fc.string({ unit: fc.constantFrom("a", "b", "é", "😀", "\n"), maxLength: 40 });
  const stop = fc.string({ unit: fc.constantFrom("a", "b", "é", "😀", "\n"), maxLength: 5 });
  fc.assert(
    fc.property(letters, fc.array(stop, { maxLength: 4 }), fc.array(fc.nat({ max: 4 })), (text, stops, lengths) => {
      expect(matched(pieces(text, lengths), stops)).toEqual(reference(text, stops));
    }),
    { numRuns: 2000 },
  );
});

test("arbitrary splits with an unarmed beginning", () => {
  const letters = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 30 });
  const stop = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 4 });
  fc.assert(
    fc.property(letters, fc.array(stop, { maxLength: 3 }), fc.nat({ max: 30 }), (text, stops, armedFrom) => {
      expect(matched([...text], stops, armedFrom)).toEqual(reference(text, stops, armedFrom));
    }),
    { numRuns: 1000 },
  );
});

test("the held text is shorter than the longest stop string, in linear time", () => {
  const stop = `${"a".repeat(50_000)}b`;
  const matcher = new StopMatcher([stop]);
  let shown = 0;
  for (let push = 1; push <= 4000; push += 1) {
    shown += matcher.push("a".repeat(50)).length;
    expect(push * 50 - shown).toBeLessThan(stop.length);
  }
  expect(shown + matcher.flush().length).toBe(200_000);
});
