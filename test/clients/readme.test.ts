import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startServer, type TestServer } from "../api/server.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const README = readFileSync(`${ROOT}README.md`, "utf8");

let server: TestServer;
beforeAll(async () => {
  server = await startServer("--threads", "1", "--alias", "claude-*=demo");
});
afterAll(() => server.stop());

/** The fenced blocks of a language, for the server under test. */
function blocks(language: string): string[] {
  const fenced = new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, "gm");
  return [...README.matchAll(fenced)].map(([, code]) => code!.replaceAll("http://127.0.0.1:8080", server.origin));
}

/** Runs a module where the packages of this repository are found. Returns what it prints. */
async function run(code: string, env: Record<string, string> = {}): Promise<string> {
  const args = ["--input-type=module", "--eval", code];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT, env: { ...process.env, ...env } });
  return stdout.trim();
}

test("every JavaScript module prints what its last comment says", async () => {
  const modules = blocks("js");
  expect(modules).toHaveLength(4);
  for (const code of modules) {
    const comment = /\/\/ ([^\n]*)\n$/.exec(code)![1];
    expect(await run(code)).toBe(comment);
  }
});

test("a client with the variables of a coding agent reaches the model by the agent's names", async () => {
  const variables = blocks("sh").flatMap((code) => /^export (ANTHROPIC_.*)$/m.exec(code)?.[1] ?? []);
  const env = Object.fromEntries(variables.flatMap((line) => line.split(" ")).map((pair) => pair.split("=")));
  expect(Object.keys(env)).toEqual(["ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN"]);
  const messages = [{ role: "user", content: "Capital of France?" }];
  const body = JSON.stringify({ model: "claude-sonnet-4-5", max_tokens: 64, temperature: 0, messages });
  const code = `import Anthropic from "@anthropic-ai/sdk";
    const message = await new Anthropic().messages.create(${body});
    console.log(message.content[0].text);`;
  expect(await run(code, env)).toBe("The capital of France is Paris.");
});
