import { expect, test } from "vitest";
import { eventsOf, wholeEvents } from "../../streams/sse.ts";

test("events are read with and without names, and comments are none", () => {
  expect(eventsOf(': wait\n\nevent: a\ndata: {"x":1}\n\ndata: 1\n\n')).toEqual([
    { name: "a", data: '{"x":1}' },
    { name: null, data: "1" },
  ]);
  expect(wholeEvents("data: 1\n\ndata: 2")).toEqual([{ name: null, data: "1" }]);
  expect(wholeEvents("d")).toEqual([]);
});

test.each(["data: 1\n", "data: 1\ndata: 2\n\n", "data: 1\r\n\n", "id: 1\ndata: 1\n\n"])("%j is refused", (body) => {
  expect(() => eventsOf(body)).toThrow();
});
