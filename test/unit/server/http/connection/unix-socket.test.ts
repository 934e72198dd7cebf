import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { listenOnPath } from "../../../../../server/http/connection/unix-socket.ts";

function folder(): string {
  const folder = mkdtempSync(join(tmpdir(), "nightshift-socket-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test("the file of a socket has no permissions of others at any time", async () => {
  const path = join(folder(), "http.sock");
  const mask = process.umask(0);
  onTestFinished(() => void process.umask(mask));
  const server = createServer();
  onTestFinished(() => void server.close());
  const listen = server.listen.bind(server);
  let first: number | null = null;
  vi.spyOn(server, "listen").mockImplementation((...args: unknown[]) => {
    Reflect.apply(listen, server, args);
    first = statSync(path).mode & 0o777;
    return server;
  });
  await listenOnPath(server, path);
  expect(first).toBe(0o770);
  expect(statSync(path).mode & 0o777).toBe(0o660);
  expect(process.umask()).toBe(0);
});

test("a path with a NUL character is refused, and leaves no file before it", async () => {
  const parent = folder();
  const server = createServer();
  onTestFinished(() => void server.close());
  await expect(listenOnPath(server, join(parent, "a\0b"))).rejects.toThrow("the path has a NUL character");
  expect(readdirSync(parent)).toEqual([]);
});
