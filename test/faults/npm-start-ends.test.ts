import { afterEach, expect, test } from "vitest";
import { endless, stream } from "../api/ask.ts";
import { HeldSteps } from "../api/held-steps.ts";
import { isAlive, readied, TestServer } from "../api/server.ts";
import { until } from "../api/until.ts";

let server: TestServer;
afterEach(() => server.stop());

/** `npm start` with a started stream that lasts until the steps are released; the server is npm's grandchild or child. */
async function busyServer() {
  const steps = new HeldSteps();
  server = await readied(new TestServer([], steps.env, ["npm", "start", "--"]));
  steps.allow(5);
  const chunks = (await stream(server.client, "Count from 1 to 20.", endless(100)))[Symbol.asyncIterator]();
  await chunks.next();
  const lastChunk = async () => {
    let last: unknown = null;
    for (let next = await chunks.next(); !next.done; next = await chunks.next()) last = next.value;
    return last;
  };
  return { steps, lastChunk };
}

test("SIGTERM to `npm start` lets the stream finish, and npm exits with 0", async () => {
  const { steps, lastChunk } = await busyServer();
  server.kill("SIGTERM");
  await server.readyIs(503);
  steps.release();
  expect(await lastChunk()).toMatchObject({ choices: [{ finish_reason: "length" }] });
  expect(await server.exited).toEqual({ code: 0, signal: null });
});

test("Ctrl-C counts once, although terminal and npm both send it", async () => {
  const { steps, lastChunk } = await busyServer();
  server.killGroup("SIGINT");
  await server.says("Shutting down: running requests may finish; a second signal ends at once");
  steps.release();
  expect(await lastChunk()).toMatchObject({ choices: [{ finish_reason: "length" }] });
  expect(await server.exited).toEqual({ code: 0, signal: null });
});

test("a second Ctrl-C ends the server at once", async () => {
  const { lastChunk } = await busyServer();
  const cut = expect(lastChunk()).rejects.toThrow();
  server.killGroup("SIGINT");
  await server.says("Shutting down: running requests may finish; a second signal ends at once");
  const { pid } = (await server.says("Listening; the models are loading")) as { pid: number };
  // Signals that arrive before a process has run merge into one: on a busy machine two Ctrl-C may be only two signals.
  await until("the server to be gone", () => {
    server.killGroup("SIGINT");
    return !isAlive(pid);
  });
  await cut;
  expect((await server.exited).code).not.toBe(0);
});
