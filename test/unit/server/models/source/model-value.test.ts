import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isModelName, safeModelName } from "../../../../../server/models/source/model-name.ts";
import { parseModelValue } from "../../../../../server/models/source/model-value.ts";

const never = () => false;

describe("a value of --model", () => {
  it.each([
    ["models/demo.gguf", "demo", "models/demo.gguf"],
    ["C:\\models\\My Model.gguf", "My-Model", "C:\\models\\My Model.gguf"],
    ["x/big-00002-of-00003.gguf", "big", "x/big-00002-of-00003.gguf"],
    ["small=./a.gguf", "small", "./a.gguf"],
    ["small=./a=b.gguf", "small", "./a=b.gguf"],
    ["org/small:v1=/abs/a.gguf", "org/small:v1", "/abs/a.gguf"],
    ["./dir=1/a.gguf", "a", "./dir=1/a.gguf"],
  ])("%s is a path", (value, name, path) => {
    expect(parseModelValue(value, never)).toEqual({ name, kind: "path", path, adapters: [] });
  });

  it("is a path with = in it where that exists", () => {
    expect(parseModelValue("a=b.gguf", (path) => path === "a=b.gguf")).toMatchObject({ name: "a-b", path: "a=b.gguf" });
    expect(parseModelValue("a=b.gguf", never)).toMatchObject({ name: "a", path: "b.gguf" });
  });

  it.each([
    ["hf:Qwen/Qwen3-0.6B-GGUF:Q4_K_M", "Qwen3-0.6B", "hf:Qwen/Qwen3-0.6B-GGUF:Q4_K_M", null],
    ["hf:o/r", "r", "hf:o/r", null],
    ["hf://o/r:Q8_0", "r", "hf:o/r:Q8_0", null],
    ["huggingface.co/o/r:Q8_0", "r", "hf:o/r:Q8_0", null],
    ["chat=hf:o/r/sub/m.gguf", "chat", "hf:o/r/sub/m.gguf", "sub/m.gguf"],
    ["https://huggingface.co/o/r/blob/main/m.gguf", "m", "hf:o/r/m.gguf#main", "m.gguf"],
    ["https://huggingface.co/o/r-GGUF", "r", "hf:o/r-GGUF", null],
  ])("%s is on the hub", (value, name, uri, file) => {
    expect(parseModelValue(value, never)).toMatchObject({
      name,
      kind: "remote",
      uri,
      hub: { owner: expect.any(String), file },
    });
  });

  it("is an address", () => {
    const value = "https://example.com/d/m%20x.gguf?key=1";
    const address = { kind: "remote", uri: value, hub: null, sha256: null, adapters: [] };
    expect(parseModelValue(value, never)).toEqual({ name: "m-x", ...address });
    expect(parseModelValue(`a=${value}`, never)).toEqual({ name: "a", ...address });
    const sha256 = "0a".repeat(32);
    expect(parseModelValue(`a=${value}#sha256=${sha256}`, never)).toEqual({ name: "a", ...address, sha256 });
    const onHub = `https://huggingface.co/o/r/resolve/main/m.gguf#sha256=${sha256}`;
    expect(parseModelValue(onHub, never)).toMatchObject({ uri: "hf:o/r/m.gguf#main", sha256 });
  });

  it.each([
    ["a.gguf+b.gguf", "a-b", "a.gguf", [["b.gguf", 1]]],
    ["poet=./a.gguf+/x/b.gguf@0.8", "poet", "./a.gguf", [["/x/b.gguf", 0.8]]],
    [
      "p=a.gguf+b.gguf@0+c.gguf@-1.5",
      "p",
      "a.gguf",
      [
        ["b.gguf", 0],
        ["c.gguf", -1.5],
      ],
    ],
    ["x+y/a.gguf", "a", "x+y/a.gguf", []],
    ["a.gguf+b.bin", "a.gguf-b.bin", "a.gguf+b.bin", []],
  ] as [string, string, string, [string, number][]][])(
    "%s is a path with its adapters",
    (value, name, path, adapters) => {
      const expected = adapters.map(([file, scale]) => ({ path: file, scale }));
      expect(parseModelValue(value, never)).toEqual({ name, kind: "path", path, adapters: expected });
    },
  );

  it("is a path with + in it where that exists, and adapters follow what is remote too", () => {
    expect(parseModelValue("a.gguf+b.gguf", () => true)).toMatchObject({ path: "a.gguf+b.gguf", adapters: [] });
    expect(parseModelValue("hf:o/r:Q8_0+b.gguf@2", never)).toMatchObject({
      name: "r-b",
      uri: "hf:o/r:Q8_0",
      adapters: [{ path: "b.gguf", scale: 2 }],
    });
  });

  it.each([
    ["a.gguf+b.gguf@much", "not the scale"],
    ["a b=x.gguf", "cannot be the name"],
    ["=x.gguf", "cannot be the name"],
    ["a=", "must follow"],
    ["hf:only", "hf:owner/repo:Q4_K_M"],
    ["hf:o/r/readme.md", "hf:owner/repo/file.gguf"],
    ["https://example.com/page", "is not the address of a .gguf file"],
    ["https://", "is not the address of a .gguf file"],
    ["https://example.com/%ZZ.gguf", "is not the address of a .gguf file"],
  ])("%s is refused", (value, message) => {
    expect(() => parseModelValue(value, never)).toThrow(message);
  });
});

describe("a model's name", () => {
  it.each(["demo", "org/m:Q4_K_M", "0.5b"])("can be %s", (name) => expect(isModelName(name)).toBe(true));
  it.each(["", ".m", "-m", "/m", "a..b", "a b", "a\nb", "ä", "a".repeat(129)])("cannot be %j", (name) =>
    expect(isModelName(name)).toBe(false),
  );

  it("made safe of any text is valid", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => isModelName(safeModelName(text))));
    fc.assert(fc.property(fc.stringMatching(/^[a.ä/-]{0,200}$/), (text) => isModelName(safeModelName(text))));
  });

  it("that is valid stays as it is", () => {
    fc.assert(fc.property(fc.stringMatching(/^[A-Za-z0-9][\w:/-]{0,60}$/), (name) => safeModelName(name) === name));
  });
});
