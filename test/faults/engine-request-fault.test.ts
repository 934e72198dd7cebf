import { expect, onTestFinished, test } from "vitest";
import { ask, endless, stream } from "../api/ask.ts";
import { TestServer } from "../api/server.ts";

test("an unexpected error in the engine fails one request with 500 and a log line", async () => {
  const server = new TestServer(["--threads", "1"], { NIGHTSHIFT_FAILPOINTS: "engine.submit:throw-on=zebra" });
  onTestFinished(() => server.stop());
  await server.says("Ready");
  const [engine] = server.enginePids;
  const running = (await stream(server.client, "Count from 1 to 20.", endless(3000)))[Symbol.asyncIterator]();
  await running.next();

  const response = await server.post("/v1/chat/completions", {
    model: "demo",
    messages: [{ role: "user", content: "a zebra of the client" }],
  });
  expect(response.status).toBe(500);
  expect(await response.json()).toMatchObject({ error: { type: "server_error", code: "internal_error" } });

  expect((await running.next()).done).toBe(false);
  expect(await ask(server.client, "Capital of Norway?")).toBe("The capital of Norway is Oslo.");
  expect(server.enginePids).toEqual([engine]);
  await server.says("A request met an unexpected error in the engine");
  expect(server.output).not.toContain("zebra");
  await running.return?.(undefined);
});
