import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ask } from "../api/ask.ts";
import { readied, SERVE, TestServer } from "../api/server.ts";

/** A listening socket, and the arguments of a process that inherits it from systemd. */
async function listening(host: string) {
  const holder: Server & { _handle?: { fd: number } } = createServer();
  await new Promise<void>((resolve) => holder.listen(0, host, resolve));
  onTestFinished(() => void holder.close());
  const { port } = holder.address() as { port: number };
  const start = (...args: string[]) => {
    const command = ["sh", "-c", 'LISTEN_FDS=1 LISTEN_PID=$$ exec "$@"', "sh", ...SERVE] as const;
    const server = new TestServer(args, {}, command, [holder._handle!.fd]);
    // From now on only the server accepts connections.
    holder.close();
    onTestFinished(() => server.stop());
    return server;
  };
  return { port, start };
}

test("a socket of systemd replaces --host and --port", async () => {
  const { port, start } = await listening("127.0.0.1");
  const server = await readied(start());
  expect(new URL(server.origin).port).toBe(`${port}`);
  expect(await ask(server.client, "Capital of France?")).toBe("The capital of France is Paris.");
});

test("a socket beyond loopback is refused where --host is loopback", async () => {
  const { start } = await listening("0.0.0.0");
  const server = start();
  expect((await server.exited).code).not.toBe(0);
  expect(server.output).toContain("the inherited socket listens on 0.0.0.0; say so with --host 0.0.0.0");
});

test("a socket of systemd is refused beside --uds, which would be ignored", async () => {
  const { start } = await listening("127.0.0.1");
  const server = start("--uds", join(tmpdir(), "nightshift-unused.sock"));
  expect((await server.exited).code).toBe(1);
  expect(server.output).toContain("systemd passed a socket to this server: remove --uds, or the .socket unit.");
});
