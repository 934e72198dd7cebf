import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { user } from "./ask.ts";
import { runCli } from "./run-cli.ts";
import { DEMO_MODEL, startServer, type TestServer } from "./server.ts";
import { writeThinker } from "./thinker.ts";

interface Reasoning {
  type: "reasoning";
  content: { text: string }[];
  encrypted_content: string;
}

test("stored answers survive a restore and continue; sealed reasoning needs the secret", async () => {
  const folder = mkdtempSync(join(tmpdir(), "nightshift-stored-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const thinker = join(folder, "thinker.gguf");
  writeThinker(thinker);
  const serve = async (dataDir: string): Promise<TestServer> => {
    const models = ["--model", `demo=${DEMO_MODEL}`, "--model", `thinker=${thinker}`];
    const server = await startServer("--data-dir", dataDir, "--threads", "1", "--reasoning-budget", "9", ...models);
    onTestFinished(() => server.stop());
    return server;
  };
  const { client: before } = await serve(join(folder, "data"));
  const demo = { model: "demo", temperature: 0 };
  const first = await before.responses.create({ ...demo, input: "What is 7 + 8?" });
  const second = await before.responses.create({
    ...demo,
    input: "Capital of France?",
    previous_response_id: first.id,
  });
  const deleted = await before.responses.create({ ...demo, input: "Hello!", store: true });
  await before.responses.delete(deleted.id);
  const conversation = await before.conversations.create({ metadata: { topic: "sums" } });
  await before.responses.create({ ...demo, input: "What is 7 + 8?", conversation: conversation.id });
  const metadata = { job: "backup" };
  const completion = await before.chat.completions.create({
    ...demo,
    messages: [user("Hello!")],
    store: true,
    metadata,
  });
  const thought = await before.responses.create({
    ...demo,
    model: "thinker",
    input: "Count from 3 to 7.",
    include: ["reasoning.encrypted_content"],
    max_output_tokens: 30,
  });
  const backup = join(folder, "backup");
  expect(await runCli("backup", backup, "--data-dir", join(folder, "data"))).toMatchObject({ code: 0 });
  await before.responses.delete(second.id);
  expect(await runCli("restore", backup, "--data-dir", join(folder, "restored"))).toMatchObject({ code: 0 });
  expect([existsSync(join(folder, "data", "secret")), existsSync(join(backup, "secret"))]).toEqual([true, false]);

  const { client: after } = await serve(join(folder, "restored"));
  const { output_text: _, _request_id: __, ...answered } = second;
  expect(await after.responses.retrieve(second.id)).toMatchObject(answered);
  await expect(after.responses.retrieve(deleted.id)).rejects.toMatchObject({ status: 404 });
  const next = await after.responses.create({ ...demo, input: "Hello!", previous_response_id: second.id });
  const { data: inputs } = await after.responses.inputItems.list(next.id, { order: "asc" });
  expect(inputs.map((item) => item.id)).toHaveLength(5);
  expect(inputs).toMatchObject([
    { content: [{ text: "What is 7 + 8?" }] },
    first.output[0]!,
    { content: [{ text: "Capital of France?" }] },
    second.output[0]!,
    { content: [{ text: "Hello!" }] },
  ]);
  await after.responses.create({ ...demo, input: "Hello!", conversation: conversation.id });
  expect((await after.conversations.items.list(conversation.id)).data).toHaveLength(4);
  expect(await after.conversations.retrieve(conversation.id)).toMatchObject({ metadata: { topic: "sums" } });
  expect((await after.chat.completions.list({ metadata })).data).toMatchObject([{ id: completion.id }]);
  expect(await after.chat.completions.delete(completion.id)).toMatchObject({ deleted: true });

  const reasoning = thought.output.find((item) => item.type === "reasoning") as unknown as Reasoning;
  const [{ text }] = reasoning.content as [{ text: string }];
  const prompt = async (client: typeof after, body: object): Promise<string> => {
    const dry = { model: "thinker", nightshift: { dry_run: true }, ...body };
    const answer = (await client.post("/responses", { body: dry })) as { prompts: [{ text: string }] };
    return answer.prompts[0].text;
  };
  const { encrypted_content } = reasoning;
  const turn = (item: object) => ({
    input: [user("Count."), { type: "reasoning", ...item }, ...ANSWER, user("Go on.")],
  });
  const sealed = turn({ summary: [], encrypted_content });
  expect(await prompt(before, sealed)).toContain(text);
  expect(await prompt(after, sealed)).not.toContain(text);
  const summarized = turn({ summary: [{ type: "summary_text", text: "a summary" }], encrypted_content });
  expect(await prompt(before, summarized)).toContain(text);
  expect(await prompt(after, summarized)).toContain("<think>a summary</think>");
  // The stored response has the text beside the seal.
  const continued = { input: "Go on.", previous_response_id: thought.id };
  expect(await prompt(after, continued)).toBe(await prompt(before, continued));
  expect(await prompt(after, continued)).toContain(text);
});

const ANSWER = [{ role: "assistant", content: "3" }];
