import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openLog } from "../../server/lifecycle/log-output.ts";
import { Scrape } from "../api/scrape.ts";
import { until } from "../api/until.ts";

let dir: string;
let descriptor: number;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "nightshift-log-"));
  const pipe = join(dir, "log");
  execFileSync("mkfifo", [pipe]);
  // Open at both ends, so that neither waits for the other; unread until a test reads.
  descriptor = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
});
afterEach(() => {
  closeSync(descriptor);
  rmSync(dir, { recursive: true });
});

/** The present content of the pipe. */
function drain(): string {
  const piece = Buffer.alloc(1 << 20);
  let text = "";
  for (;;) {
    try {
      const bytes = readSync(descriptor, piece);
      if (bytes === 0) return text;
      text += piece.toString("utf8", 0, bytes);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EAGAIN") return text;
      throw error;
    }
  }
}

test("an unread log blocks no request: lines beyond its bound are dropped and counted", async () => {
  const { logger, dropped } = await openLog({ level: "info", format: "json", descriptor });
  const line = "x".repeat(1000);
  for (let i = 0; i < 3000; i++) logger.info({ i, line }, "kept");
  expect(dropped()).toBe(0);
  for (let i = 0; i < 3000; i++) logger.info({ i, line }, "too much");
  expect(dropped()).toBeGreaterThan(1000);
  // A later reader gets the kept lines, each complete, and there is room for new ones.
  let text = drain();
  const lines = () => text.split("\n").slice(0, -1);
  await until("lines that were kept", () => {
    text += drain();
    return lines().length >= 500;
  });
  expect(lines().map((each) => JSON.parse(each).i)).toEqual(lines().map((_, i) => i));
  const before = dropped();
  logger.info({}, "again");
  expect(dropped()).toBe(before);
});

test("a server with unread output serves, and ends at SIGTERM", async () => {
  const cli = new URL("../../dist/server/cli.js", import.meta.url).pathname;
  const port = 20_000 + (process.pid % 20_000);
  const options = ["--port", String(port), "--data-dir", join(dir, "data"), "--log-level", "trace", "--threads", "1"];
  const child = spawn(process.execPath, [cli, "serve", ...options], { stdio: ["ignore", descriptor, descriptor] });
  try {
    const origin = `http://127.0.0.1:${port}`;
    const refused = { method: "POST", headers: { "content-type": "application/json" }, body: "{" };
    const ready = () =>
      fetch(`${origin}/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
    await until("the server to be ready", ready);
    // Each refusal is a line at level debug; together they are several times the size of a pipe.
    for (let i = 0; i < 60; i++) {
      const answers = Array.from({ length: 20 }, () => fetch(`${origin}/v1/chat/completions`, refused));
      for (const { status } of await Promise.all(answers)) expect(status).toBe(400);
    }
    const metrics = new Scrape(await (await fetch(`${origin}/metrics`)).text());
    expect(metrics.samples.map(({ name }) => name)).toContain("nightshift_log_lines_dropped_total");
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  } finally {
    child.kill("SIGKILL");
  }
});

test("a log without a reader is given up, and its lines are counted", async () => {
  const pipe = join(dir, "gone");
  execFileSync("mkfifo", [pipe]);
  const both = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
  const writing = openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
  closeSync(both);
  const { logger, dropped, flush } = await openLog({ level: "info", format: "json", descriptor: writing });
  await until("lines to be dropped", () => {
    logger.info({}, "unread line");
    return dropped() > 0;
  });
  await flush();
  closeSync(writing);
});
