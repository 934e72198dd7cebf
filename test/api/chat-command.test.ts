import { EventEmitter, once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough, Readable, Writable } from "node:stream";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { chatCommand } from "../../server/cli/chat/chat-command.ts";
import { startServer, type TestServer } from "./server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer("--threads", "1", "--sequences", "2");
});
afterAll(() => server?.stop());

/** Streams of a command, and Ctrl-C as "SIGINT". */
class Terminal extends EventEmitter {
  readonly env: Record<string, string | undefined> = { NIGHTSHIFT_URL: `${server.origin}/v1` };
  readonly stdin: Readable & { isTTY?: boolean };
  readonly outputs = new EventEmitter();
  out = "";
  err = "";
  readonly stdout = this.#writable("out");
  readonly stderr = this.#writable("err");

  constructor(input: string | (Readable & { isTTY?: boolean })) {
    super();
    this.stdin = typeof input === "string" ? Readable.from([input]) : input;
  }

  #writable(name: "out" | "err"): Writable {
    return new Writable({
      write: (chunk, _, done) => {
        this[name] += chunk;
        this.outputs.emit("text");
        done();
      },
    });
  }

  async until(text: string): Promise<void> {
    while (!`${this.out}${this.err}`.includes(text)) await once(this.outputs, "text");
  }
}

async function run(input: string, ...args: string[]): Promise<Terminal> {
  const terminal = new Terminal(input);
  await chatCommand(args, terminal);
  return terminal;
}

test("a question is answered once, by the first model", async () => {
  expect((await run("", "Count", "from 3 to 7.")).out).toBe("3, 4, 5, 6, 7\n");
});

test("the standard input stands behind the question, or is the question", async () => {
  expect((await run("Count from 3 to 7.")).out).toBe("3, 4, 5, 6, 7\n");
  expect((await run(" \n", "Count from 3 to 7.")).out).toBe("3, 4, 5, 6, 7\n");
});

test("the line break at the end of the standard input is left out", async () => {
  let body = "";
  const echo = createServer((request, response) => {
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => {
      response.setHeader("content-type", "text/event-stream");
      response.end("data: [DONE]\n\n");
    });
  });
  await once(echo.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void echo.close());
  const { port } = echo.address() as AddressInfo;
  await run("one\ntwo\n", "--url", `http://127.0.0.1:${port}/v1`, "--model", "m", "Say it.").catch(() => null);
  expect(JSON.parse(body)).toMatchObject({ messages: [{ role: "user", content: "Say it.\n\none\ntwo" }] });
});

test("a conversation on a terminal has the earlier turns, and goes on after an error", async () => {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  const terminal = new Terminal(stdin);
  const ended = chatCommand(["--model", "demo"], terminal);
  stdin.write("Count from 3 to 7.\n");
  await terminal.until("3, 4, 5, 6, 7");
  stdin.write(`${"long ".repeat(20_000)}\n`);
  await terminal.until("context");
  stdin.write("Count from 2 to 4.\n");
  await terminal.until("2, 3, 4\n");
  stdin.end();
  await ended;
});

test("Ctrl-C ends an answer", async () => {
  const endless = createServer((_, response) => {
    const chunk = { choices: [{ delta: { content: "moon " } }] };
    response.writeHead(200, { "content-type": "text/event-stream" }).write(`data: ${JSON.stringify(chunk)}\n\n`);
  });
  onTestFinished(() => void endless.close());
  await once(endless.listen(0, "127.0.0.1"), "listening");
  const { port } = endless.address() as AddressInfo;
  const terminal = new Terminal("");
  const ended = chatCommand(["Hi", "--model", "demo", "--url", `http://127.0.0.1:${port}`], terminal);
  terminal.outputs.once("text", () => terminal.emit("SIGINT"));
  await expect(ended).rejects.toThrow("Interrupted.");
  expect(terminal.out).toBe("moon ");
  expect(terminal.listenerCount("SIGINT")).toBe(0);
});

test("errors are the server's messages", async () => {
  await expect(run("", "Hi", "--model", "absent")).rejects.toThrow(/absent/);
  await expect(run("")).rejects.toThrow("There is no question");
  await expect(run("", "Hi", "--url", "http://127.0.0.1:9")).rejects.toThrow(/No server answers/);
});
