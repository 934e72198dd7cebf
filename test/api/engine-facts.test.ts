import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeModel } from "../../bench/models/model.ts";
import { SHAPES } from "../../bench/models/shapes.ts";
import { startLocalEngine } from "../../engine/client/local-engine.ts";
import type { EngineConfig, LocalFacts, ModelFacts } from "../../engine/protocol/config.ts";
import { CONFIG } from "../faults/engine-fixture.ts";
import { writeDemoAdapter } from "./demo-adapter.ts";
import { DEMO_MODEL } from "./server.ts";

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };
const ENTRY = new URL("../../dist/engine/worker/main.js", import.meta.url);
const OBSERVER = { step() {}, piece() {}, started() {}, ended() {}, restarted() {} };

const folder = mkdtempSync(join(tmpdir(), "nightshift-facts-"));
const at = (name: string) => join(folder, `${name}.gguf`);
const write = (name: string, shape: string, seed: number) => writeModel(at(name), shape, SHAPES[shape]!(), seed);

beforeAll(async () => {
  await Promise.all([
    write("hybrid", "tiny-hybrid", 1),
    write("recurrent", "tiny-recurrent", 1),
    write("one", "tiny-full", 1),
    write("same", "tiny-full", 1),
    write("tuned", "tiny-full", 2),
  ]);
});
afterAll(() => rmSync(folder, { recursive: true }));

async function factsOf(
  name: string,
  config: Partial<EngineConfig> = {},
): Promise<Omit<ModelFacts, "local"> & LocalFacts> {
  const all = { ...CONFIG, model: "m", path: at(name), threads: 1, context: 512, ...config };
  const engine = startLocalEngine(all, { observer: OBSERVER, log: SILENT, entry: ENTRY });
  try {
    const { local, ...facts } = await engine.ready();
    if (local === null) throw new Error("it is a local model");
    return { ...facts, ...local };
  } finally {
    await engine.close();
  }
}

test("the cache of a model whose first layer has no attention is counted by layer", async () => {
  const hybrid = await factsOf("hybrid");
  // Two of four layers have attention: two heads of 16 numbers each, keys and values, of two bytes.
  const states = 2 * 64 * 2 * 4;
  // Four sequences, and two ids for shared prefixes.
  const ids = 4 + 2;
  expect(hybrid.cacheBytes).toBe(hybrid.cells * 2 * 2 * 16 * 2 * 2 + ids * states);
  const recurrent = await factsOf("recurrent");
  expect(recurrent.cacheBytes).toBe(ids * 4 * (3 * 128 + 8 * 128) * 4);
});

test("a fingerprint covers the values of metadata and the weights of tensors", async () => {
  const file = readFileSync(at("one"));
  const { fingerprint } = await factsOf("one");
  const changed = async (name: string, change: (bytes: Buffer) => void) => {
    const bytes = Buffer.from(file);
    change(bytes);
    writeFileSync(at(name), bytes);
    return (await factsOf(name)).fingerprint;
  };
  const renamed = await changed("renamed", (bytes) => {
    bytes.write("another", bytes.indexOf("random tiny-full"));
  });
  expect(renamed).not.toBe(fingerprint);
  const trained = await changed("trained", (bytes) => {
    for (let i = bytes.length >> 1; i < bytes.length; i++) bytes[i]! ^= 1;
  });
  expect(trained).not.toBe(fingerprint);
  expect(trained).not.toBe(renamed);
});

test("fingerprints differ by weights, adapters, chat templates and cache types", async () => {
  const one = await factsOf("one");
  expect((await factsOf("same")).fingerprint).toBe(one.fingerprint);
  expect((await factsOf("tuned")).fingerprint).not.toBe(one.fingerprint);
  expect((await factsOf("one", { cacheTypeK: "q8_0" })).fingerprint).not.toBe(one.fingerprint);
  const templated = async (text: string) => {
    const { chatTemplate, templateFile, fingerprint } = await factsOf("one", { chatTemplate: { path: "t", text } });
    expect({ chatTemplate, templateFile }).toEqual({ chatTemplate: true, templateFile: "t" });
    return fingerprint;
  };
  const texts = ["{{ messages[0].content }}", "{{ messages[-1].content }}"];
  expect(new Set([one.fingerprint, await templated(texts[0]!), await templated(texts[1]!)]).size).toBe(3);
  const path = at("adapter");
  const adapted = async (seed: number) => {
    await writeDemoAdapter(path, "llama", seed);
    return (await factsOf("demo", { path: DEMO_MODEL, adapters: [{ path, scale: 1 }] })).fingerprint;
  };
  expect(await adapted(1)).not.toBe(await adapted(2));
});
