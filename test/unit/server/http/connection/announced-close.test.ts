import { expect, it, onTestFinished } from "vitest";
import { listen } from "../../../../../server/http/connection/listen.ts";
import { ANY_PORT } from "./any-port.ts";

it("after announceClose every answer has Connection: close, and requests are served", async () => {
  const waiting: (() => void)[] = [];
  const server = await listen((req, res) => {
    if (req.url === "/now") res.end("now");
    else waiting.push(() => res.end("later"));
  }, ANY_PORT);
  onTestFinished(() => server.close(0));
  const before = await fetch(`${server.url}/now`);
  expect(before.headers.get("connection")).toBe("keep-alive");
  await before.text();

  const later = fetch(`${server.url}/later`);
  await expect.poll(() => waiting.length).toBe(1);
  server.announceClose();
  const after = await fetch(`${server.url}/now`);
  expect([after.headers.get("connection"), await after.text()]).toEqual(["close", "now"]);
  waiting[0]?.();
  const answered = await later;
  expect([answered.headers.get("connection"), await answered.text()]).toEqual(["close", "later"]);
});
