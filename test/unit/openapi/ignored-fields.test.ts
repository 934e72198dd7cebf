import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ignoredNames, reportedNames } from "../../../openapi/ignored-fields.ts";
import { chat, completion } from "./body-faults.ts";

describe("ignored fields of a body", () => {
  it.each<[object, string[]]>([
    [{ model: "demo", messages: [], temperature: 1, service_tier: "auto" }, []],
    [{ user: "u", metadata: {}, prediction: {}, prompt_cache_key: "k" }, ["user", "prediction", "prompt_cache_key"]],
    [{ n_probs: 3, cache_prompt: true }, ["n_probs", "cache_prompt"]],
    [{ user: null, n_probs: null }, []],
    [{ constructor: 1, toString: 2, shape: 3 }, ["constructor", "toString", "shape"]],
  ])("%j", (body, names) => {
    expect(ignoredNames(body, chat)).toEqual(names);
  });

  it("are those that no schema uses", () => {
    const body = { prompt: "", messages: [], suffix: "", user: "u", verbosity: "low" };
    expect(ignoredNames(body, chat)).toEqual(["prompt", "suffix", "user"]);
    expect(ignoredNames(body, chat, completion)).toEqual(["user"]);
  });
});

describe("reported names", () => {
  it("are bounded in number, with a count of the others", () => {
    const names = Array.from({ length: 40 }, (_, i) => `field_${i}`);
    expect(reportedNames(names.slice(0, 31))).toEqual(names.slice(0, 31));
    expect(reportedNames(names)).toEqual([...names.slice(0, 31), "+9 more"]);
  });

  it("have only characters that a header may have", () => {
    expect(reportedNames(["a\r\nset-cookie: x", "ä, b", ""])).toEqual(["a??set-cookie??x", "???b", "?"]);
  });

  it("make a header of at most 2 KiB of any names", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary", maxLength: 200 }), { maxLength: 60 }), (names) => {
        const header = reportedNames(names).join(", ");
        expect(header).toMatch(/^[\w.?-]*(, [\w.?-]+)*(, \+\d+ more)?$/);
        expect(header.length).toBeLessThanOrEqual(2100);
      }),
    );
  });
});
