import { afterEach, expect, test } from "vitest";
import { endless, stream } from "../api/ask.ts";
import { isAlive, startServer, type TestServer } from "../api/server.ts";
import { until } from "../api/until.ts";

let server: TestServer;
afterEach(() => server.stop());

test("kill -9 of the server ends its engine process too, busy or not", async () => {
  server = await startServer();
  const engines = server.enginePids;
  expect(engines).toHaveLength(1);
  const chunks = (await stream(server.client, "Count from 1 to 20.", endless(4000)))[Symbol.asyncIterator]();
  await chunks.next();
  server.kill("SIGKILL");
  await until("both processes to be gone", () => ![server.pid, ...engines].some(isAlive));
  await expect(
    Promise.resolve().then(async () => {
      while (!(await chunks.next()).done);
    }),
  ).rejects.toThrow();
});

test("SIGTERM: not ready at once, nothing new, the stream finishes, exit 0", async () => {
  server = await startServer();
  const engines = server.enginePids;
  const running = await stream(server.client, "Count from 1 to 20.", endless(800));
  const chunks = running[Symbol.asyncIterator]();
  await chunks.next();
  server.kill("SIGTERM");
  await server.readyIs(503);
  const refused = await stream(server.client, "Hello!").catch((error: unknown) => error);
  expect(refused).toMatchObject({ status: 503, code: "server_shutting_down" });
  let last: unknown = null;
  for (let next = await chunks.next(); !next.done; next = await chunks.next()) last = next.value;
  expect(last).toMatchObject({ choices: [{ finish_reason: "length" }] });
  expect(await server.exited).toEqual({ code: 0, signal: null });
  expect(engines.some(isAlive)).toBe(false);
});

test("SIGTERM with a short grace ends what still runs, which hears why, and the process with 0", async () => {
  server = await startServer("--shutdown-grace", "0");
  const chunks = (await stream(server.client, "Count from 1 to 20.", endless(4000)))[Symbol.asyncIterator]();
  await chunks.next();
  server.kill("SIGTERM");
  const failure = await Promise.resolve()
    .then(async () => {
      while (!(await chunks.next()).done);
    })
    .catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "server_shutting_down" });
  expect(await server.exited).toEqual({ code: 0, signal: null });
});

test("a second signal ends it at once", async () => {
  server = await startServer();
  const engines = server.enginePids;
  const chunks = (await stream(server.client, "Count from 1 to 20.", endless(4000)))[Symbol.asyncIterator]();
  await chunks.next();
  server.kill("SIGTERM");
  await server.says("Shutting down: running requests may finish; a second signal ends at once");
  server.kill("SIGTERM");
  expect(await server.exited).toEqual({ code: 1, signal: null });
  await until("the engine to be gone", () => !engines.some(isAlive));
});
