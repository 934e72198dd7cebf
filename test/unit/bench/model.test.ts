import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readGgufFileInfo } from "node-llama-cpp";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type GgufTensor, tensorBytes, writeGguf } from "../../../bench/models/gguf.ts";
import { writeModel } from "../../../bench/models/model.ts";
import { SHAPES } from "../../../bench/models/shapes.ts";
import { half, randomTensor } from "../../../bench/models/weights.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "bench-model-"));
});
afterAll(() => rm(folder, { recursive: true }));

const TINY = ["tiny-full", "tiny-swa", "tiny-recurrent", "tiny-hybrid", "tiny-embedding", "tiny-ranking"] as const;

test.each(TINY)("%s is a small file that another reader can parse", async (name) => {
  const path = join(folder, `${name}.gguf`);
  const shape = SHAPES[name]!();
  const bytes = await writeModel(path, name, shape, 1);
  expect((await stat(path)).size).toBe(bytes);
  expect(bytes).toBeLessThan(2 * 2 ** 20);
  const info = await readGgufFileInfo(path, { logWarnings: false });
  expect(info.metadata.general.architecture).toBe(shape.architecture);
  expect(info.metadata.tokenizer.ggml.tokens).toHaveLength(shape.vocabulary);
  expect(info.fullTensorInfo!.map((tensor) => tensor.name)).toEqual(shape.tensors([]).map((tensor) => tensor.name));
});

test("equal seeds give equal files, different seeds different ones", async () => {
  const digest = async (file: string, seed: number) => {
    const path = join(folder, file);
    await writeModel(path, "tiny-full", SHAPES["tiny-full"]!(), seed);
    // the seed is in the header: compare the tensors' bytes
    return createHash("sha256")
      .update((await readFile(path)).subarray(-500_000))
      .digest("hex");
  };
  const first = await digest("a.gguf", 7);
  expect(await digest("b.gguf", 7)).toBe(first);
  expect(await digest("c.gguf", 8)).not.toBe(first);
});

test.each([
  ["0.5b", 0.49e9],
  ["1.5b", 1.54e9],
  ["8b", 8.2e9],
  ["30m", 31e6],
  ["30m-hybrid", 32e6],
])("%s has the parameters of its name", (name, parameters) => {
  const count = SHAPES[name]!()
    .tensors([])
    .reduce((sum, { dims }) => sum + dims.reduce((product, n) => product * n, 1), 0);
  expect(count / parameters).toBeGreaterThan(0.95);
  expect(count / parameters).toBeLessThan(1.05);
});

test("a quantized tensor is blocks of random bytes with the scale of its deviation", () => {
  const tensor = randomTensor({ name: "m", dims: [64, 20_000], fill: { std: 0.05, quiet: [1] } }, "q8_0", 3, 0);
  const bytes = Buffer.concat(Array.from(tensor.chunks(), (chunk) => Buffer.from(chunk)));
  expect(bytes.byteLength).toBe(tensorBytes([64, 20_000], "q8_0"));
  const scale = (block: number) => bytes.readUInt16LE(block * 34);
  expect(scale(0)).toBe(half(0.05 / 73.9));
  for (let block = 0; block < 40_000; block++) {
    expect(scale(block)).toBe(block === 2 || block === 3 ? half(0.05 / 64 / 73.9) : scale(0));
  }
  const values = Array.from({ length: 30_000 * 32 }, (_, i) => bytes.readInt8(Math.floor(i / 32) * 34 + 2 + (i % 32)));
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const std = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
  expect(Math.abs(mean)).toBeLessThan(1);
  expect(std).toBeCloseTo(73.9, 0);
});

test("half precision has the bits of IEEE 754, subnormals too", () => {
  expect([1, 0.5, 1.5, 65_504, 2 ** -14, 2 ** -24, 2 ** -15].map(half)).toEqual([
    0x3c00, 0x3800, 0x3e00, 0x7bff, 0x0400, 0x0001, 0x0200,
  ]);
});

test("a file that cannot be completed leaves neither itself nor a part", async () => {
  const short: GgufTensor = { name: "short", dims: [8], kind: "f32", chunks: () => [new Uint8Array(4)] };
  await expect(writeGguf(join(folder, "broken.gguf"), {}, [short])).rejects.toThrow("short: 4 bytes instead of 32");
  expect((await readdir(folder)).filter((name) => name.startsWith("broken"))).toEqual([]);
});
