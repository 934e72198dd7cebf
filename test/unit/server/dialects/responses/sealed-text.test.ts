import { expect, test } from "vitest";
import { Seal } from "../../../../../server/dialects/responses/sealed-text.ts";

const seal = new Seal(Buffer.alloc(32, 1));

test("a sealed text opens for its owner on its server alone, unchanged", () => {
  const sealed = seal.seal("thoughts é", "ann");
  expect(seal.open(sealed, "ann")).toBe("thoughts é");
  expect(seal.open(sealed, "bob")).toBeNull();
  expect(new Seal(Buffer.alloc(32, 2)).open(sealed, "ann")).toBeNull();
  const bytes = Buffer.from(sealed, "base64");
  for (let place = 0; place < bytes.length; place++) {
    const changed = Buffer.from(bytes);
    changed[place]! ^= 1;
    expect(seal.open(changed.toString("base64"), "ann")).toBeNull();
  }
});

test("a text is sealed equally each time, and another one under another nonce", () => {
  expect(seal.seal("a", "ann")).toBe(seal.seal("a", "ann"));
  const nonceOf = (text: string, owner: string) => Buffer.from(seal.seal(text, owner), "base64").toString("hex", 1, 13);
  expect(new Set([nonceOf("a", "ann"), nonceOf("b", "ann"), nonceOf("a", "bob")]).size).toBe(3);
});

test.each(["", "AQ==", "not base64 at all", "A".repeat(100)])("a foreign text does not open: %j", (text) => {
  expect(seal.open(text, "ann")).toBeNull();
});
