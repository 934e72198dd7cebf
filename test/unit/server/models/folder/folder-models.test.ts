import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { EngineState } from "../../../../../engine/engine.ts";
import { FolderModels } from "../../../../../server/models/folder/folder-models.ts";
import { ModelSet } from "../../../../../server/models/model-set.ts";
import { ServedFiles } from "../../../../../server/models/served-files.ts";
import { until } from "../../../../api/until.ts";
import { FakeEngine } from "../../fake-engine.ts";
import { freshFolder } from "../source/downloading.ts";

class NamedEngine extends FakeEngine {
  override readonly model: string;
  override state: EngineState = { name: "unloaded" };

  constructor(model: string) {
    super();
    this.model = model;
  }
}

/** A folder with these models, beside the served model `own`. */
function rig(...names: string[]) {
  const folder = freshFolder();
  const write = (name: string) => writeFileSync(join(folder, `${name}.gguf`), `GGUF ${name}`);
  const remove = (name: string) => rmSync(join(folder, `${name}.gguf`));
  for (const name of names) write(name);
  const clock = { ms: 0 };
  const planned: string[] = [];
  const warnings: object[] = [];
  const bad = new Set<string>();
  const own = { id: "own", engine: new NamedEngine("own"), created: 0 };
  const models = new ModelSet([own], { aliases: { nick: "b" }, otherwise: null });
  const added: string[] = [];
  models.added(({ id }) => added.push(id));
  const files = new ServedFiles();
  const found = new FolderModels({
    folder,
    models,
    files,
    plan: async ({ name }) => {
      planned.push(name);
      if (bad.has(name)) throw new Error(`${name} is bad`);
    },
    start: ({ name }) => new NamedEngine(name),
    created: () => 1,
    now: () => clock.ms,
    log: { debug: () => {}, info: () => {}, error: () => {}, warn: (fields) => warnings.push(fields) },
  });
  models.searchBy(found);
  const served = () => models.list().map(({ id }) => id);
  return { folder, write, remove, clock, planned, warnings, bad, models, added, files, found, served };
}

test("models are measured one after the other, and served from then on", async () => {
  const { found, served, planned, models } = rig("a", "b");
  await found.scan();
  expect(found.names).toEqual(["a", "b"]);
  expect(models.expected).toEqual(["own", "a", "b"]);
  await until("both to be served", () => served().length === 3);
  expect([served(), planned]).toEqual([
    ["own", "a", "b"],
    ["a", "b"],
  ]);
  expect(models.get("nick")?.id).toBe("b");
});

test("a request for an unknown name looks for new files, at most every few seconds", async () => {
  const { found, write, clock, models, served } = rig();
  await found.scan();
  write("later");
  await models.search("later");
  expect(served()).toEqual(["own"]);
  clock.ms += 5000;
  await models.search("later");
  expect(served()).toEqual(["own", "later"]);
  expect(models.search("later")).toBeNull();
});

test("a model that cannot be planned is named once, and tried again when its file has changed or on request", async () => {
  const { found, planned, warnings, bad, served, folder } = rig("bad");
  bad.add("bad");
  await found.scan();
  await until("the warning", () => warnings.length > 0);
  expect(warnings).toEqual([{ file: join(folder, "bad.gguf"), reason: "bad is bad" }]);
  await found.scan();
  await found.find("bad");
  expect([planned.length, warnings.length]).toEqual([1, 1]);
  bad.clear();
  writeFileSync(join(folder, "bad.gguf"), "GGUF, and more of it");
  await found.scan();
  await found.find("bad");
  expect([planned.length, served()]).toEqual([2, ["own", "bad"]]);
});

test("a retry measures files again that could not be served", async () => {
  const { found, bad, served, planned } = rig("bad");
  bad.add("bad");
  await found.scan();
  await found.find("bad");
  bad.clear();
  await found.retry();
  await found.find("bad");
  expect([planned.length, served()]).toEqual([2, ["own", "bad"]]);
});

test("a file that is gone is not served, and served again by its engine when it is back", async () => {
  const { found, write, remove, served, models, added, files, folder } = rig("a");
  await found.scan();
  await found.find("a");
  const { engine } = models.get("a")!;
  remove("a");
  await found.scan();
  expect([served(), files.has(join(folder, "a.gguf"))]).toEqual([["own"], false]);
  write("a");
  await found.scan();
  expect(models.get("a")!.engine).toBe(engine);
  expect([added, files.has(join(folder, "a.gguf"))]).toEqual([["a"], true]);
});

test("names of the options stay theirs, and two files of one name have different ones", async () => {
  const { found, files, folder, warnings } = rig("own", "nick", "listed", "c", "0123456789ab-c", "ba9876543210-c");
  files.add("else", { uri: null, paths: [join(folder, "listed.gguf")] });
  await found.scan();
  expect(found.names).toEqual(["c", "ba9876543210-c"]);
  expect(warnings.map((fields) => Object(fields).file)).toEqual(
    ["c", "nick", "own"].map((name) => join(folder, `${name}.gguf`)),
  );
});

test("a model that is in memory is not released", async () => {
  const { found, models, served } = rig("a");
  await found.scan();
  await found.find("a");
  const engine = models.get("a")!.engine as NamedEngine;
  engine.state = { name: "ready" };
  expect([found.release("a"), found.release("own"), found.release("none")]).toEqual([false, false, false]);
  engine.state = { name: "unloaded" };
  expect([found.release("a"), served()]).toEqual([true, ["own"]]);
});
