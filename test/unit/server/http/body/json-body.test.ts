import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { Request, Response } from "express";
import { expect, it } from "vitest";
import { withoutKeys } from "../../../../../server/auth/authentication.ts";
import { readJson } from "../../../../../server/http/body/json-body.ts";
import { BodyMemory } from "../../../../../server/http/context/body-memory.ts";
import { requestContext } from "../../../../../server/http/context/request-context.ts";
import { OPTIONS } from "../../../../../server/options/table.ts";
import { countingTurns } from "../../../platform/counting-turns.ts";
import { startTestServer } from "../../test-server.ts";

const KIB = 1024;
/** Bytes that are read, scanned and decoded in one slice, and bytes of one read of a socket. */
const SLICE = 256 * KIB;
const CHUNK = 64 * KIB;
const say = (content: string) => ({ role: "user", content });

/** Near the default --max-body and the bounds of a body's parts, and refused by the endpoint. */
const BODIES: [string, object][] = [
  ["one long text", { messages: [say("word ".repeat(1_900_000))] }],
  ["many messages", { messages: Array.from({ length: 30_000 }, () => say("x".repeat(250))) }],
  ["short strings", { messages: [say("x")], model: 1, x: Array.from({ length: 250_000 }, (_, i) => i.toString(36)) }],
  [
    "many fields",
    {
      messages: [say("x")],
      metadata: Object.fromEntries(Array.from({ length: 60_000 }, (_, i) => [`k${i}`, "v".repeat(100)])),
    },
  ],
];

it.each(BODIES)("a body of %s is parsed in slices of the event loop, and is a 400", async (_, body) => {
  const text = JSON.stringify({ model: "demo", ...body });
  const bytes = Buffer.from(text);
  const headers = { "content-type": "application/json", "content-length": String(bytes.byteLength) };
  const chunks = Array.from({ length: Math.ceil(bytes.byteLength / CHUNK) }, (_, i) =>
    bytes.subarray(i * CHUNK, (i + 1) * CHUNK),
  );
  const request = asRequest(Readable.from(chunks), headers);
  const response = new EventEmitter() as ServerResponse;
  const loop = countingTurns();
  const value = await readJson(request, response, OPTIONS.maxBody.default);
  loop.end();
  expect(JSON.stringify(value) === text).toBe(true);
  // One for each slice that is read, one for each that is parsed (of as many characters), and one for the work on the value.
  expect(loop.turns).toBeGreaterThanOrEqual(2 * Math.floor(bytes.byteLength / SLICE) + 1);

  const server = await startTestServer();
  expect((await server.post("/v1/chat/completions", text)).status).toBe(400);
  await server.close();
});

/** A request as the first of the middleware leaves it. */
function asRequest(body: Readable, headers: Record<string, string>): Request {
  const request = Object.assign(body, { headers, rawHeaders: [], complete: true }) as unknown as Request;
  const response = { setHeader: () => {} } as unknown as Response;
  const clock = { now: () => performance.now(), epochMs: () => 0 };
  requestContext(clock, () => "id", new BodyMemory(Number.POSITIVE_INFINITY))(request, response, () => {});
  withoutKeys(request, response, () => {});
  return request;
}
