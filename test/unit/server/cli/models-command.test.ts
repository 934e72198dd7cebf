import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { demoModelPath } from "../../../../platform/installation.ts";
import { modelsCommand } from "../../../../server/cli/models-command.ts";
import { until } from "../../../api/until.ts";
import { freshFolder } from "../models/source/downloading.ts";
import { FakeHub, fakeGguf } from "../models/source/fake-hub.ts";

const MB = 1024 * 1024;

/** A hub with two quantizations, an empty folder, and the command over them. */
async function rig() {
  const hub = await FakeHub.start();
  for (const tag of ["Q4_K_M", "Q8_0"]) {
    hub.manifests.set(`/v2/o/tiny-GGUF/manifests/${tag}`, `tiny-${tag}.gguf`);
    hub.files.set(`/o/tiny-GGUF/resolve/main/tiny-${tag}.gguf`, fakeGguf(MB));
  }
  const folder = freshFolder();
  const listeners: (() => void)[] = [];
  let err = "";
  const run = async (...args: string[]): Promise<string> => {
    let out = "";
    await modelsCommand([...args, "--models-dir", folder], {
      env: { HF_ENDPOINT: hub.endpoint },
      stdout: { write: (text) => (out += text) },
      stderr: { isTTY: true, columns: 200, write: (text) => (err += text) },
      once: (_, listener) => listeners.push(listener),
    });
    return out;
  };
  return { hub, folder, run, err: () => err, interrupt: () => listeners[0]!() };
}

test("a model is downloaded with progress, listed and removed", async () => {
  const { folder, run, err } = await rig();
  expect(await run("list")).toBe(`No models are in ${folder}.\n`);
  const paths = (await run("pull", "hf:o/tiny-GGUF:Q4_K_M", "hf:o/tiny-GGUF:Q8_0")).trim().split("\n");
  expect(paths.map((path) => existsSync(path))).toEqual([true, true]);
  expect(err()).toContain("100 %, 1.0 MB of 1.0 MB");
  expect(await run("list")).toMatch(/^tiny-Q4_K_M +not checked +hf:o\/tiny-GGUF:Q4_K_M +1.0 MB$/m);
  expect(await run("rm", "tiny-Q4_K_M")).toBe("tiny-Q4_K_M removed, 1.0 MB free\n");
  expect(paths.map((path) => existsSync(path))).toEqual([false, true]);
  expect(await run("rm", "hf:o/tiny-GGUF:Q8_0")).toBe("tiny-Q8_0 removed, 1.0 MB free\n");
  expect(readdirSync(folder)).toEqual([]);
});

test("an interrupted download is listed with its share, and continued or removed", async () => {
  const { hub, folder, run, err, interrupt } = await rig();
  hub.files.set("/o/big/resolve/main/big.gguf", fakeGguf(4 * MB));
  const slow = run("pull", "hf:o/big/big.gguf", "--download-rate", "1KiB");
  await until("the download", () => err().includes("Downloading big"));
  interrupt();
  await expect(slow).rejects.toThrow(`Interrupted. The received bytes are kept in ${folder}`);
  expect(await run("list")).toMatch(/^big +0 % downloaded +\S+-big.gguf +4.2 MB$/m);
  await expect(run("show", "big")).rejects.toThrow("The download of big has not ended");
  expect(await run("rm", "big")).toBe("big removed, 0 bytes free\n");
  expect(readdirSync(folder)).toEqual([]);
  await run("pull", "hf:o/big/big.gguf");
  expect(await run("list")).toMatch(/^big +not checked/m);
});

test("files that were put into the folder or a subfolder are listed, split ones once", async () => {
  const { folder, run } = await rig();
  const split = ["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"];
  for (const name of ["own.gguf", "notes.txt", ...split, "o/r/m.gguf", ...split.map((part) => `o/r/n/${part}`)]) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), fakeGguf(1000));
  }
  const listed: { name: string; files: string[] }[] = JSON.parse(await run("list", "--json"));
  expect(listed.map(({ name, files }) => [name, files])).toEqual([
    ["m", split],
    ["o/r/m", ["o/r/m.gguf"]],
    ["o/r/n/m", split.map((part) => `o/r/n/${part}`)],
    ["own", ["own.gguf"]],
  ]);
  await run("rm", "m", "o/r/n/m", "o/r/m.gguf");
  expect(readdirSync(folder).sort()).toEqual(["notes.txt", "o", "own.gguf"]);
  expect(readdirSync(join(folder, "o/r/n"))).toEqual([]);
  expect(readdirSync(join(folder, "o/r"))).toEqual(["n"]);
});

test("a name of several models is refused with their sources", async () => {
  const { hub, run } = await rig();
  hub.files.set("/o/tiny-GGUF/resolve/dev/tiny-Q8_0.gguf", fakeGguf(MB));
  await run("pull", "hf:o/tiny-GGUF:Q8_0", "hf:o/tiny-GGUF/tiny-Q8_0.gguf#dev");
  await expect(run("rm", "tiny-Q8_0")).rejects.toThrow(/'tiny-Q8_0' is the name of several models: give one of hf:o\//);
  expect(await run("rm", "hf:o/tiny-GGUF:Q8_0")).toBe("tiny-Q8_0 removed, 1.0 MB free\n");
  expect(await run("list")).toContain("tiny-Q8_0.gguf#dev");
});

test("an unknown name is an error with the names that there are", async () => {
  const { folder, run } = await rig();
  await expect(run("rm", "tiny")).rejects.toThrow(`There is no model 'tiny' in ${folder}. The folder is empty.`);
  await run("pull", "hf:o/tiny-GGUF:Q8_0");
  await expect(run("show", "tiny")).rejects.toThrow("The folder has tiny-Q8_0.");
});

test("a stored model is shown by its name, with its properties and memory plan", async () => {
  const { folder, run } = await rig();
  mkdirSync(folder, { recursive: true });
  copyFileSync(demoModelPath, join(folder, "copy.gguf"));
  const text = await run("show", "copy", "--threads", "1", "--calibration", "off", "--log-level", "error");
  expect(text).toMatch(/^Model copy$/m);
  expect(text).toMatch(/^ {2}attention +full: prefixes are reused from any token on$/m);
  expect(text).toMatch(/^ {2}KV cache +\d/m);
});
