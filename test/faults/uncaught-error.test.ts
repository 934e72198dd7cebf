import { afterEach, expect, test } from "vitest";
import { endless, stream } from "../api/ask.ts";
import { HeldSteps } from "../api/held-steps.ts";
import { isAlive, readied, TestServer } from "../api/server.ts";

let server: TestServer;
afterEach(() => server.stop());

/** Raises an uncaught error in the server process at a signal. */
const FAULTS = {
  unhandledRejection: "Promise.reject(new Error('a bug'))",
  uncaughtException: "setImmediate(()=>{throw(new(Error)('a bug'))})",
};

test.each(Object.entries(FAULTS))("%s is logged, lets the stream finish and exits with 1", async (event, fault) => {
  const script = encodeURIComponent(`process.on('SIGUSR2',()=>{${fault}})`);
  const steps = new HeldSteps();
  const options = { NODE_OPTIONS: `--import=data:text/javascript,${script}` };
  server = await readied(new TestServer([], { ...options, ...steps.env }));
  steps.allow(5);
  const engines = server.enginePids;
  const chunks = (await stream(server.client, "Count from 1 to 20.", endless(100)))[Symbol.asyncIterator]();
  await chunks.next();
  server.kill("SIGUSR2");
  const line = await server.says("Uncaught error: shutting down");
  expect(line).toMatchObject({ event, err: { message: "a bug" } });
  await server.readyIs(503);
  steps.release();
  let last: unknown = null;
  for (let next = await chunks.next(); !next.done; next = await chunks.next()) last = next.value;
  expect(last).toMatchObject({ choices: [{ finish_reason: "length" }] });
  expect(await server.exited).toEqual({ code: 1, signal: null });
  expect(engines.some(isAlive)).toBe(false);
});
