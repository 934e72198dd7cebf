import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { InputFiles } from "../../../../batch/lines/input-files.ts";
import { until } from "../../../api/until.ts";
import { chatLine, jsonl } from "../../../batch/batch-rig.ts";
import { canCountDescriptors, descriptorsIn } from "../../open-descriptors.ts";
import { countingTurns } from "../../platform/counting-turns.ts";
import { FACTS, FakeEngine, saying } from "../../server/fake-engine.ts";
import { freshFolder } from "../../store/test-store.ts";
import { batchRig } from "../batch-rig.ts";

const realParse = JSON.parse;
const LINE = '{"body":1}';

function inputs(count: number): string[] {
  const folder = freshFolder();
  return Array.from({ length: count }, (_, i) => {
    const path = join(folder, `${i}.jsonl`);
    writeFileSync(path, LINE);
    return path;
  });
}

describe("input files", () => {
  it("stay open up to a bound, and the least recently read closes first", async () => {
    const [a, b, c] = inputs(3) as [string, string, string];
    const files = new InputFiles(2);
    for (const path of [a, b, a, c]) expect(await files.body(path, 0, LINE.length)).toBe(1);
    expect(files.size).toBe(2);
    // An open file is read though its name is gone, a closed one is not.
    for (const path of [a, b, c]) rmSync(path);
    expect(await files.body(a, 0, LINE.length)).toBe(1);
    expect(await files.body(c, 0, LINE.length)).toBe(1);
    await expect(files.body(b, 0, LINE.length)).rejects.toMatchObject({ code: "ENOENT" });
    await files.closeAll();
    expect(files.size).toBe(0);
  });

  it("that are read concurrently beyond the bound are all read", async () => {
    const paths = inputs(8);
    const files = new InputFiles(1);
    const bodies = await Promise.all(paths.map((path) => files.body(path, 0, LINE.length)));
    expect(bodies).toEqual(paths.map(() => 1));
    expect(files.size).toBe(1);
    await files.closeAll();
  });

  it("have a long line parsed in parts, each in a turn of the event loop", async () => {
    const [path] = inputs(1) as [string];
    const body = { prompt: Array.from({ length: 100_000 }, (_, i) => `word ${i}`) };
    const line = JSON.stringify({ body });
    writeFileSync(path, line);
    const files = new InputFiles();
    const loop = countingTurns();
    const parses: { length: number; turn: number }[] = [];
    const parse = vi.spyOn(JSON, "parse").mockImplementation((text) => {
      parses.push({ length: text.length, turn: loop.turns });
      return realParse(text);
    });
    onTestFinished(() => parse.mockRestore());
    expect(await files.body(path, 0, line.length)).toEqual(body);
    loop.end();
    const long = parses.filter(({ length }) => length > 64 * 1024);
    expect(Math.max(...long.map(({ length }) => length))).toBeLessThan(256 * 1024);
    expect(long.length).toBeGreaterThan(line.length / (256 * 1024));
    expect(new Set(long.map(({ turn }) => turn)).size).toBe(long.length);
    await files.closeAll();
  });

  it("close after the reads that have begun", async () => {
    const [path] = inputs(1) as [string];
    const files = new InputFiles();
    const body = files.body(path, 0, LINE.length);
    await files.close(path);
    expect(await body).toBe(1);
    expect(files.size).toBe(0);
  });

  it("that could not be opened are opened again for the next line", async () => {
    const path = join(freshFolder(), "in.jsonl");
    const files = new InputFiles();
    await expect(files.body(path, 0, LINE.length)).rejects.toMatchObject({ code: "ENOENT" });
    writeFileSync(path, LINE);
    expect(await files.body(path, 0, LINE.length)).toBe(1);
    await files.closeAll();
  });
});

it.runIf(canCountDescriptors)(
  "64 batches in progress have at most 32 input files open, and none once they are over",
  async () => {
    const engine = new FakeEngine();
    engine.facts = { ...FACTS, sequences: 100 };
    const rig = await batchRig(engine);
    const ids = await Promise.all(
      Array.from({ length: 64 }, (_, i) => rig.submit(jsonl([chatLine("l", `question ${i}`)]))),
    );
    await until("all lines to be in the engine", () => engine.requests.length === ids.length);
    const files = join(rig.folder, "files");
    expect(descriptorsIn(files)).toBeLessThanOrEqual(32);
    for (const request of engine.requests) saying("yes")(request);
    for (const id of ids) await rig.reaches(id, "completed");
    expect(descriptorsIn(files)).toBe(0);
  },
);
