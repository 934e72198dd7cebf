import { type Agent, Agent as HttpAgent, request } from "node:http";
import { connect, type Socket } from "node:net";
import { toFile } from "openai";
import { afterEach, expect, test } from "vitest";
import { connectionsWithin } from "../../server/http/connection/connection-limit.ts";
import { ask } from "../api/ask.ts";
import { TestServer } from "../api/server.ts";
import { until } from "../api/until.ts";

let server: TestServer;
let idle: Socket[] = [];
afterEach(async () => {
  for (const socket of idle) socket.destroy();
  idle = [];
  await server.stop();
});

/** Opens connections that send no bytes; resolves when each is open or was closed again. */
async function openIdle(count: number): Promise<{ closed: () => number }> {
  let closed = 0;
  const { port } = new URL(server.origin);
  await Promise.all(
    Array.from({ length: count }, () => {
      const socket = connect(Number(port), "127.0.0.1");
      idle.push(socket);
      socket.on("error", () => {}).once("close", () => closed++);
      // The response has to be read, or the end is never seen.
      socket.resume();
      return new Promise<void>((resolve) => void socket.once("connect", resolve).once("close", resolve));
    }),
  );
  return { closed: () => closed };
}

function get(path: string, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    const call = request(server.origin + path, { agent }, (response) => {
      response.resume().once("end", () => resolve(response.statusCode ?? 0));
    });
    call.on("error", reject).end();
  });
}

test("idle connections up to the limit of open files leave the store its files", async () => {
  // Far fewer files than --max-connections; the hard limit too, to which Node would raise the soft one.
  const cli = ["dist/server/cli.js", "serve"];
  const shell = 'ulimit -n 600 && exec "$0" "$@"';
  server = new TestServer([], {}, ["sh", "-c", shell, process.execPath, ...cli]);
  await server.says("Ready");
  const [warning] = server.logged("Fewer connections than --max-connections: this process may open too few files");
  const most = connectionsWithin(600, 4096);
  expect(warning?.maxConnections).toBe(most);
  const agent = new HttpAgent({ keepAlive: true, maxSockets: 1 });
  expect(await get("/health", agent)).toBe(200);

  const clients = await openIdle(1000);
  await until("those over the limit to be closed", () => clients.closed() >= 1000 - most);
  expect(await get("/health", agent)).toBe(200);
  expect(await get("/ready", agent)).toBe(200);
  for (const socket of idle) socket.destroy();
  await until("a new connection to be taken", async () => (await fetch(`${server.origin}/health`)).ok);
  expect(await ask(server.client, "What is 7 + 8?")).toBe("15");
  const file = await server.client.files.create({
    file: await toFile(Buffer.from("x"), "x.txt"),
    purpose: "user_data",
  });
  expect(file.bytes).toBe(1);
  agent.destroy();
});

test.each([
  [null, 4096, 4096],
  [1_048_576, 4096, 4096],
  [1024, 4096, 384],
  [1024, 100, 100],
  [64, 4096, 16],
])("with %s open files, a limit of %i connections becomes %i", (openFiles, wanted, connections) => {
  expect(connectionsWithin(openFiles, wanted)).toBe(connections);
});
