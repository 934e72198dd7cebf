import { expect, test } from "vitest";
import { ModelDownloads } from "../../../../server/models/model-downloads.ts";
import { parseModelValue, type RemoteModel } from "../../../../server/models/source/model-value.ts";
import { until } from "../../../api/until.ts";
import { freshFolder, MB } from "./source/downloading.ts";
import { FakeHub, fakeGguf } from "./source/fake-hub.ts";

async function rig(more: { reserve?: number } = {}) {
  const hub = await FakeHub.start();
  hub.files.set("/o/m/resolve/main/m.gguf", fakeGguf(MB));
  let ids = 0;
  const downloads = new ModelDownloads({
    folder: freshFolder(),
    env: { HF_ENDPOINT: hub.endpoint },
    log: { info: () => {}, warn: () => {} },
    newId: () => `download_${ids++}`,
    now: () => 1_700_000_000,
    ...more,
  });
  return { hub, downloads };
}

function model(file: string): RemoteModel {
  return parseModelValue(`hf:o/m/${file}.gguf`, () => false) as RemoteModel;
}

test("16 downloads wait at most, and a stop cancels all", async () => {
  const { hub, downloads } = await rig();
  hub.silent = true;
  const started = Array.from({ length: 17 }, (_, i) => downloads.start(model(`m${i}`)));
  expect(started.map((download) => download !== null)).toEqual([...Array(16).fill(true), false]);
  await until("a request", () => hub.requests.length > 0);
  expect(started.slice(0, 2).map((download) => download?.status)).toEqual(["running", "queued"]);
  await downloads.stop();
  expect(new Set(downloads.list().map(({ status }) => status))).toEqual(new Set(["cancelled"]));
  expect(downloads.start(model("later"))).toBeNull();
});

test("64 ended downloads are kept", async () => {
  const { downloads } = await rig();
  for (let i = 0; i < 70; i++) await downloads.remove(downloads.start(model(`m${i}`))!.id);
  await downloads.stop();
  expect(downloads.list()).toHaveLength(64);
  expect(downloads.list()[0]!.source).toBe("hf:o/m/m69.gguf");
});

test("a download leaves the reserve of the disk free", async () => {
  const { downloads } = await rig({ reserve: Number.MAX_SAFE_INTEGER });
  const download = downloads.start(model("m"))!;
  await until("the failure", () => download.endedAt !== null);
  expect(download).toMatchObject({ status: "failed", path: null });
  expect(download.error).toMatch(/has room for 0\.0 GB/);
});
