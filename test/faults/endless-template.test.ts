import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { complete } from "../api/ask.ts";
import { copyGguf } from "../api/gguf-copy.ts";
import { DEMO_MODEL, startServer } from "../api/server.ts";

const LOOPS = ["i", "j", "k"].reduceRight((body, name) => `{% for ${name} in range(3000) %}${body}{% endfor %}`, "");

test("endless chat templates, and many control tokens, block neither loading nor engine", async () => {
  const folder = mkdtempSync(join(tmpdir(), "nightshift-templates-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const at = (name: string) => join(folder, `${name}.gguf`);
  copyGguf(DEMO_MODEL, at("loops"), "tokenizer.chat_template", LOOPS);
  copyGguf(DEMO_MODEL, at("marks"), "tokenizer.chat_template", "<|im_end|>".repeat(100_000));
  const models = ["loops", "marks"].flatMap((name) => ["--model", `${name}=${at(name)}`]);
  const server = await startServer("--threads", "1", "--sequences", "4", ...models);
  onTestFinished(() => server.stop());
  const engines = server.enginePids;

  expect(server.output).toContain("The model's chat template can't be used (it takes more than 50000 steps)");
  const { choices } = await complete(server.client, "Capital of Kenya?", { model: "loops" });
  expect(choices[0]!.message.content).toContain("Nairobi");
  const refused = await complete(server.client, "Hi", { model: "marks" }).catch((error: unknown) => error);
  expect(refused).toMatchObject({ status: 400, code: "context_length_exceeded" });
  expect(server.enginePids).toEqual(engines);
});
