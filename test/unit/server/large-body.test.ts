import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { expect, it } from "vitest";
import { DEFAULT_APP_OPTIONS } from "../../../server/app-options.ts";
import { readJson } from "../../../server/json-body.ts";
import { startTestServer } from "./test-server.ts";

const MB = 1024 * 1024;
const say = (content: string) => ({ role: "user", content });

/** Near the default --max-body and the bounds of a body's parts, and refused by the endpoint. */
const BODIES: [string, object][] = [
  ["one long text", { messages: [say("word ".repeat(1_900_000))] }],
  ["many messages", { messages: Array.from({ length: 30_000 }, () => say("x".repeat(250))) }],
  [
    "many fields",
    {
      messages: [say("x")],
      metadata: Object.fromEntries(Array.from({ length: 60_000 }, (_, i) => [`k${i}`, "v".repeat(100)])),
    },
  ],
];

it.each(BODIES)("a body of %s is read in a turn of the event loop for each megabyte, and is a 400", async (_, body) => {
  const text = JSON.stringify({ model: "demo", ...body });
  const bytes = Buffer.from(text);
  const headers = { "content-type": "application/json", "content-length": String(bytes.byteLength) };
  const request = Object.assign(Readable.from([bytes]), { headers, complete: true }) as unknown as IncomingMessage;
  let turns = 0;
  let over = false;
  const count = () => {
    turns++;
    if (!over) setImmediate(count);
  };
  setImmediate(count);
  expect(await readJson(request, {} as ServerResponse, DEFAULT_APP_OPTIONS.bodyLimit)).toEqual(JSON.parse(text));
  over = true;
  // Two more: parsing, and what is made of the value.
  expect(turns).toBeGreaterThanOrEqual(Math.ceil(bytes.byteLength / MB) + 2);

  const server = await startTestServer();
  expect((await server.post("/v1/chat/completions", text)).status).toBe(400);
  await server.close();
});
