import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { complete } from "./ask.ts";
import { DEMO_MODEL, startServer, TestServer } from "./server.ts";

const CAPITAL =
  "{% for message in messages %}<|im_start|>{{ message.role }}\nCapital of {{ message.content }}?<|im_end|>\n{% endfor %}" +
  "<|im_start|>assistant{{ '\\n' }}";

const folder = mkdtempSync(join(tmpdir(), "nightshift-template-"));
const file = join(folder, "capital.jinja");
const MODELS = ["own", "capital"].flatMap((name) => ["--model", `${name}=${DEMO_MODEL}`]);
let server: TestServer;
beforeAll(async () => {
  writeFileSync(file, CAPITAL);
  server = await startServer(...MODELS, "--sequences", "2", "--chat-template", `capital=${file}`);
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

test("a template from a file replaces that of one model", async () => {
  const [own, capital] = await Promise.all(
    ["own", "capital"].map((model) => complete(server.client, "Greece", { model })),
  );
  expect(capital!.choices[0]!.message.content).toBe("The capital of Greece is Athens.");
  expect(own!.choices[0]!.message.content).not.toBe("The capital of Greece is Athens.");
  expect(capital!.usage!.prompt_tokens).toBeGreaterThan(own!.usage!.prompt_tokens);
});

test("a server with a template that is not Jinja ends with its file and line", async () => {
  const broken = join(folder, "broken.jinja");
  writeFileSync(broken, "{% for message in messages %}\n{{ message.content }}\n{% endif %}");
  const failing = new TestServer(["--chat-template", broken]);
  expect(await failing.exited).toMatchObject({ code: 1 });
  expect(failing.output).toMatch(/The chat template \S+broken\.jinja is not valid Jinja: .* \(line 3\)\./);
});
