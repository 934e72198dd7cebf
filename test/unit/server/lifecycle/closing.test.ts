import { expect, it } from "vitest";
import { closeInOrder } from "../../../../server/lifecycle/closing.ts";

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

it("closes each part in order, whatever became of those before", async () => {
  const closed: string[] = [];
  const part = (name: string, fault: "throws" | "rejects" | null = null) => ({
    name,
    close: () => {
      closed.push(name);
      if (fault === "throws") throw new Error(name);
      return fault === "rejects" ? Promise.reject(new Error(name)) : Promise.resolve();
    },
  });
  const closing = closeInOrder([part("a", "rejects"), part("b"), part("c", "throws"), part("d")], silent);
  await expect(closing).rejects.toThrow("not closed: a, c");
  expect(closed).toEqual(["a", "b", "c", "d"]);
});
