import { afterEach, expect, test } from "vitest";
import { endless, stream } from "../api/ask.ts";
import { HeldSteps } from "../api/held-steps.ts";
import { isAlive, readied, TestServer } from "../api/server.ts";
import { until } from "../api/until.ts";

let server: TestServer;
afterEach(() => server.stop());

/** A server with a started stream that lasts until `steps` are released. */
async function busyServer(tokens: number, ...args: string[]) {
  const steps = new HeldSteps();
  server = await readied(new TestServer(args, steps.env));
  steps.allow(5);
  const chunks = (await stream(server.client, "Count from 1 to 20.", endless(tokens)))[Symbol.asyncIterator]();
  await chunks.next();
  return { steps, chunks, engines: server.enginePids };
}

test("kill -9 of the server ends its engine process, busy or idle", async () => {
  const { chunks, engines } = await busyServer(4000);
  expect(engines).toHaveLength(1);
  server.kill("SIGKILL");
  await until("both processes to be gone", () => ![server.pid, ...engines].some(isAlive));
  await expect(
    Promise.resolve().then(async () => {
      while (!(await chunks.next()).done);
    }),
  ).rejects.toThrow();
});

test("SIGTERM refuses new requests, lets the stream finish and exits with 0", async () => {
  const { steps, chunks, engines } = await busyServer(100);
  server.kill("SIGTERM");
  await server.readyIs(503);
  const refused = await stream(server.client, "Hello!").catch((error: unknown) => error);
  expect(refused).toMatchObject({ status: 503, code: "server_shutting_down" });
  steps.release();
  let last: unknown = null;
  for (let next = await chunks.next(); !next.done; next = await chunks.next()) last = next.value;
  expect(last).toMatchObject({ choices: [{ finish_reason: "length" }] });
  expect(await server.exited).toEqual({ code: 0, signal: null });
  expect(engines.some(isAlive)).toBe(false);
});

test("SIGTERM with a short grace ends streams with the reason, and exits with 0", async () => {
  const { chunks } = await busyServer(4000, "--shutdown-grace", "0");
  server.kill("SIGTERM");
  const failure = await Promise.resolve()
    .then(async () => {
      while (!(await chunks.next()).done);
    })
    .catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "server_shutting_down" });
  expect(await server.exited).toEqual({ code: 0, signal: null });
});

test("a second signal ends the server at once", async () => {
  const { engines } = await busyServer(4000);
  server.kill("SIGTERM");
  await server.says("Shutting down: running requests may finish; a second signal ends at once");
  server.kill("SIGTERM");
  expect(await server.exited).toEqual({ code: 1, signal: null });
  await until("the engine to be gone", () => !engines.some(isAlive));
});
