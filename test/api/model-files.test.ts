import { copyFileSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { APIError } from "openai";
import { expect, onTestFinished, test } from "vitest";
import {
  modelDownload,
  modelDownloadList,
  modelFileDeleted,
  modelFileDetails,
  modelFileList,
} from "../../openapi/resources/model-files.ts";
import { freshFolder } from "../unit/server/models/source/downloading.ts";
import { FakeHub, fakeGguf } from "../unit/server/models/source/fake-hub.ts";
import { KeyedServer } from "./keyed.ts";
import { DEMO_MODEL } from "./server.ts";
import { until } from "./until.ts";

/** A hub with the demo model and a large file, and a server with an empty folder. */
async function rig(...args: string[]) {
  const hub = await FakeHub.start();
  hub.manifests.set("/v2/o/demo-GGUF/manifests/Q8_0", "demo-Q8_0.gguf");
  hub.files.set("/o/demo-GGUF/resolve/main/demo-Q8_0.gguf", readFileSync(DEMO_MODEL));
  hub.files.set("/o/big/resolve/main/big.gguf", fakeGguf(4_000_000));
  const folder = freshFolder();
  const keyed = await KeyedServer.startWith({ HF_ENDPOINT: hub.endpoint }, "--models-dir", folder, ...args);
  onTestFinished(() => keyed.server.stop());
  const { admin } = keyed;
  const list = async () => modelFileList.strict().parse(await admin.get("/nightshift/models"));
  const pull = async (source: string) =>
    modelDownload.strict().parse(await admin.post("/nightshift/downloads", { body: { source } }));
  const download = async (id: string) => modelDownload.strict().parse(await admin.get(`/nightshift/downloads/${id}`));
  const ended = async (id: string) => {
    await until("the end of the download", async () => (await download(id)).ended_at !== null);
    return download(id);
  };
  return { hub, folder, keyed, admin, list, pull, download, ended };
}

async function failure(call: Promise<unknown>): Promise<{ status: unknown; code: unknown }> {
  const error = await call.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof APIError)) throw new Error(`no error of the API: ${error}`);
  return { status: error.status, code: error.code };
}

test("a model is downloaded, listed, inspected and deleted", async () => {
  const { folder, admin, list, pull, ended } = await rig();
  expect((await list()).data).toEqual([]);
  const begun = await pull("hf:o/demo-GGUF:Q8_0");
  expect(begun).toMatchObject({ source: "hf:o/demo-GGUF:Q8_0", name: "demo", ended_at: null });
  const done = await ended(begun.id);
  expect(done).toMatchObject({ status: "completed", error: null, received_bytes: done.total_bytes });
  const { data } = await list();
  expect(data).toMatchObject([
    { id: done.model_file, name: "demo-Q8_0", uri: "hf:o/demo-GGUF:Q8_0", received: null, used_by: [] },
  ]);

  for (const id of [done.model_file!, "demo-Q8_0", "hf:o/demo-GGUF:Q8_0"]) {
    const details = await admin.get(`/nightshift/models/${encodeURIComponent(id)}`);
    expect(modelFileDetails.strict().parse(details)).toMatchObject({
      id: done.model_file,
      header: { architecture: "llama", memory: "full", chat_template: true, generates: true },
      problem: null,
    });
  }
  const details = modelFileDetails.parse(await admin.get("/nightshift/models/demo-Q8_0"));
  expect(details.memory!.wanted_bytes).toBeGreaterThan(details.memory!.least_bytes);
  expect(details.memory!.least_bytes).toBeGreaterThan(details.header!.bytes);

  const deleted = modelFileDeleted.strict().parse(await admin.delete("/nightshift/models/demo-Q8_0"));
  expect(deleted).toMatchObject({ id: done.model_file, freed_bytes: data[0]!.bytes });
  expect(readdirSync(folder)).toEqual([]);
  expect(await failure(admin.get("/nightshift/models/demo-Q8_0"))).toEqual({ status: 404, code: null });
});

test("a running download has its progress, its files stay while it runs, and it continues after a cancellation", async () => {
  const { admin, list, pull, download, ended } = await rig("--download-rate", "200KiB");
  const { id } = await pull("hf:o/big/big.gguf");
  expect((await pull("hf:o/big/big.gguf")).id).toBe(id);
  const next = await pull("hf:o/demo-GGUF:Q8_0");
  await until("the first bytes", async () => ((await download(id)).received_bytes ?? 0) > 0);
  expect(await download(id)).toMatchObject({ status: "running", total_bytes: 4_000_000 });
  expect(await download(next.id)).toMatchObject({ status: "queued", total_bytes: null });
  const [partial] = (await list()).data;
  expect(partial).toMatchObject({ name: "big", uri: null, bytes: 4_000_000 });
  expect(await failure(admin.delete(`/nightshift/models/${partial!.id}`))).toEqual({
    status: 409,
    code: "model_in_use",
  });

  const cancelled = await admin.delete(`/nightshift/downloads/${next.id}`);
  expect(modelDownload.parse(cancelled).status).toBe("cancelled");
  expect(modelDownload.parse(await admin.delete(`/nightshift/downloads/${id}`)).status).toBe("cancelled");
  expect((await ended(id)).status).toBe("cancelled");
  const all = modelDownloadList.strict().parse(await admin.get("/nightshift/downloads"));
  expect(all.data.map((one) => [one.id, one.status])).toEqual([
    [next.id, "cancelled"],
    [id, "cancelled"],
  ]);
  await admin.delete(`/nightshift/downloads/${id}`);
  expect(await failure(admin.get(`/nightshift/downloads/${id}`))).toEqual({ status: 404, code: null });
  expect(modelFileDeleted.parse(await admin.delete("/nightshift/models/big")).id).toBe(partial!.id);
  expect((await list()).data).toEqual([]);
});

test("files of a served model stay, and its source is not downloaded twice", async () => {
  const folder = freshFolder();
  const own = join(folder, "own.gguf");
  copyFileSync(DEMO_MODEL, own);
  const { keyed, admin, list, pull } = await rig(
    "--models-dir",
    folder,
    "--model",
    `mine=${own}`,
    "--model",
    "hf:o/demo-GGUF:Q8_0",
  );
  await until("the served download", async () => (await list()).data.length === 2);
  const { data } = await list();
  expect(data.map(({ name, used_by }) => [name, used_by])).toEqual([
    ["demo-Q8_0", ["demo"]],
    ["own", ["mine"]],
  ]);
  for (const { id } of data) {
    expect(await failure(admin.delete(`/nightshift/models/${id}`))).toEqual({ status: 409, code: "model_in_use" });
  }
  expect(existsSync(own)).toBe(true);
  expect(await failure(pull("hf:o/demo-GGUF:Q8_0"))).toEqual({ status: 409, code: "model_in_use" });
  const { client } = await keyed.key();
  expect(await failure(client.get("/nightshift/models"))).toEqual({ status: 403, code: "missing_scope" });
});

test("a failed download has the reason, and sources beside those of the hub are refused", async () => {
  const { hub, admin, pull, ended } = await rig();
  const failed = await ended((await pull("hf:o/absent:Q8_0")).id);
  expect(failed).toMatchObject({ status: "failed", model_file: null });
  expect(failed.error).toContain("hf:o/absent:Q8_0");
  const broken = [
    "",
    "o/r",
    "./a.gguf",
    `${hub.endpoint}/a.gguf`,
    "hf:o/../x.gguf",
    "hf:o/r/f.gguf+a.gguf",
    "hf:o/r/f.bin",
  ];
  for (const source of broken) {
    expect([source, await failure(pull(source))]).toEqual([source, { status: 400, code: "invalid_value" }]);
  }
  expect(await failure(admin.get("/nightshift/models", { query: { after: "none" } }))).toMatchObject({ status: 400 });
});
