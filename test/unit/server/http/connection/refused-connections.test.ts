import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { listen } from "../../../../../server/http/connection/listen.ts";
import { ANY_PORT } from "./any-port.ts";

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => resolve(socket));
    socket.once("error", reject);
    onTestFinished(() => void socket.destroy());
  });
}

function answer(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    socket.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
    socket.once("close", () => resolve(text));
  });
}

test("a connection over the limit is a 503, and a freed one is accepted again", async () => {
  const server = await listen((_req, res) => res.end("ok"), { ...ANY_PORT, maxConnections: 2 });
  onTestFinished(() => server.close(0));
  const request = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  const first = await open(server.port);
  const second = await open(server.port);

  const refused = await answer(await open(server.port));
  expect(refused).toMatch(/^HTTP\/1.1 503 [\s\S]*Retry-After: 1[\s\S]*"code":"too_many_connections"/);

  const served = answer(first);
  first.write(request);
  expect(await served).toMatch(/^HTTP\/1.1 200 [\s\S]*ok/);
  const next = await open(server.port);
  next.write(request);
  expect(await answer(next)).toMatch(/^HTTP\/1.1 200 /);
  second.destroy();
});
