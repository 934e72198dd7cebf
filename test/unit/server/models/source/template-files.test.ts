import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { readTemplateFiles } from "../../../../../server/models/source/template-files.ts";

const folder = mkdtempSync(join(tmpdir(), "nightshift-templates-"));
afterAll(() => rmSync(folder, { recursive: true }));

function written(name: string, content: string | Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const PLAIN = "{% for message in messages %}{{ message.content }}\n{% endfor %}";

describe("the templates of the options", () => {
  it("are read by model, without a byte order mark and with plain line ends", async () => {
    const file = written("plain.jinja", `\uFEFF${PLAIN.replace("\n", "\r\n")}`);
    const files = await readTemplateFiles([{ model: "a", file }], ["a", "b"]);
    expect([...files]).toEqual([["a", { path: file, text: PLAIN }]]);
  });

  it("need no name where there is one model", async () => {
    const file = written("only.jinja", PLAIN);
    expect([...(await readTemplateFiles([{ model: null, file }], ["only"])).keys()]).toEqual(["only"]);
    await expect(readTemplateFiles([{ model: null, file }], ["a", "b"])).rejects.toThrow(
      `--chat-template ${file}: there are several models. Name one: --chat-template a=${file}.`,
    );
  });

  const broken = "{% for message in messages %}\n{{ message.content }}\n{% endif %}";
  it.each([
    ["is missing", () => join(folder, "none.jinja"), /^There is no chat template .*none\.jinja\.$/],
    ["is a folder", () => folder, /nightshift-templates-\w+ is not a file\.$/],
    ["is too large", () => written("large", Buffer.alloc(2 ** 20 + 1, 32)), /large has 1048577 bytes; at most 1048576/],
    ["is not text", () => written("binary", Buffer.from([0x7b, 0xff])), /binary is not UTF-8 text\.$/],
    ["is empty", () => written("empty", " \n"), /empty is empty\.$/],
    ["is not Jinja", () => written("broken", broken), /broken is not valid Jinja: .* \(line 3\)\.$/],
  ])("are refused where a file %s", async (_, path, message) => {
    await expect(readTemplateFiles([{ model: "a", file: path() }], ["a"])).rejects.toThrow(message);
  });
});
