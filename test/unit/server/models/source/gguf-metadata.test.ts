import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { readGgufFileInfo } from "node-llama-cpp";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ggufMetadata } from "../../../../../server/models/source/gguf-metadata.ts";
import { DEMO_MODEL } from "../../../../api/server.ts";

const folder = mkdtempSync(join(tmpdir(), "nightshift-metadata-"));
afterAll(() => rmSync(folder, { recursive: true }));

function written(bytes: Buffer): string {
  const path = join(folder, "model.gguf");
  writeFileSync(path, bytes);
  return path;
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function u64(value: number | bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function text(value: string): Buffer {
  return Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)]);
}

/** A file with these values, each as its type and its bytes. */
function gguf(values: Record<string, [number, Buffer]>): Buffer {
  const entries = Object.entries(values).flatMap(([key, [type, bytes]]) => [text(key), u32(type), bytes]);
  return Buffer.concat([Buffer.from("GGUF"), u32(3), u64(0), u64(Object.keys(values).length), ...entries]);
}

const [TEXT, LIST] = [8, 9];
const list = (type: number, count: number | bigint, ...items: Buffer[]): [number, Buffer] => [
  LIST,
  Buffer.concat([u32(type), u64(count), ...items]),
];

describe("the metadata of a file", () => {
  let all: Awaited<ReturnType<typeof ggufMetadata>>;
  beforeAll(async () => {
    all = await ggufMetadata(DEMO_MODEL, true);
  });

  test("are those that another reader finds", async () => {
    const { metadata } = await readGgufFileInfo(DEMO_MODEL, { readTensorInfo: false });
    const flat: Record<string, unknown> = {};
    const flatten = (prefix: string, value: unknown) => {
      if (typeof value !== "object" || value === null || Array.isArray(value)) flat[prefix] = value;
      else for (const [key, entry] of Object.entries(value)) flatten(prefix === "" ? key : `${prefix}.${key}`, entry);
    };
    flatten("", metadata);
    const epsilon = "llama.attention.layer_norm_rms_epsilon";
    expect({ ...all, [epsilon]: Math.fround(Number(all[epsilon])) }).toEqual(flat);
    expect(all[epsilon]).toBe(0.00001);
  });

  test("have null for each list that is not asked for, and the same other values", async () => {
    const without = await ggufMetadata(DEMO_MODEL, false);
    expect(without["tokenizer.ggml.tokens"]).toBeNull();
    const expected = Object.entries(all).map(([key, value]) => [key, Array.isArray(value) ? null : value]);
    expect(without).toEqual(Object.fromEntries(expected));
  });

  test("are read behind lists that are longer than a chunk", async () => {
    const long = list(TEXT, 60_000, ...Array.from({ length: 60_000 }, (_, i) => text(`token ${i}`)));
    const numbers = list(4, 200_000, Buffer.alloc(800_000, 1));
    const path = written(gguf({ long, numbers, last: [TEXT, text("end")] }));
    expect(await ggufMetadata(path, false)).toEqual({ long: null, numbers: null, last: "end" });
    const { long: tokens, numbers: read, last } = await ggufMetadata(path, true);
    expect(tokens).toEqual(Array.from({ length: 60_000 }, (_, i) => `token ${i}`));
    expect([read, last]).toEqual([Array(200_000).fill(0x01010101), "end"]);
  });
});

describe("a file that was replaced by another", () => {
  const whole = gguf({ a: [TEXT, text("b")], list: list(TEXT, 2, text("c"), text("d")), n: [4, u32(7)] });

  test("cut off anywhere, is refused", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: whole.length - 1 }), fc.boolean(), async (length, lists) => {
        await expect(ggufMetadata(written(whole.subarray(0, length)), lists)).rejects.toThrow(/GGUF|cut off/);
      }),
      { numRuns: 40 },
    );
  });

  test.each<[string, Buffer, RegExp]>([
    ["is no GGUF file", Buffer.from("version https://git-lfs.github.com"), /not in GGUF format/],
    ["has a text of 2^62 bytes", gguf({ a: [TEXT, u64(1n << 62n)] }), /text that is too long/],
    ["has a list of 2^62 numbers", gguf({ a: list(4, 1n << 62n) }), /list that is too long/],
    ["has 2^62 keys", Buffer.concat([Buffer.from("GGUF"), u32(3), u64(0), u64(1n << 62n)]), /too many keys/],
    ["has a list of lists", gguf({ a: list(LIST, 1) }), /unknown type 9/],
    ["has a value of no type", gguf({ a: [99, u32(0)] }), /unknown type 99/],
  ])("%s and is refused", async (_, bytes, reason) => {
    for (const lists of [false, true]) await expect(ggufMetadata(written(bytes), lists)).rejects.toThrow(reason);
  });
});
