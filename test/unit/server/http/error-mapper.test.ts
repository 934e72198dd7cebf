import type { Request, Response } from "express";
import { expect, test } from "vitest";
import { ApiError, invalidRequest, unavailable } from "../../../../openapi/api-error.ts";
import type { Log } from "../../../../platform/log.ts";
import { ClientGone } from "../../../../server/http/connection/client-gone.ts";
import { BodyMemory } from "../../../../server/http/context/body-memory.ts";
import { requestContext } from "../../../../server/http/context/request-context.ts";
import { errorMapper } from "../../../../server/http/error-mapper.ts";

/** At which levels an error of a request whose client is gone is logged. */
function levelsOf(thrown: unknown): string[] {
  const levels: string[] = [];
  const level = (name: string) => () => void levels.push(name);
  const log: Log = { debug: level("debug"), info: level("info"), warn: level("warn"), error: level("error") };
  const req = { headers: {}, rawHeaders: [] } as unknown as Request;
  const res = { setHeader: () => {}, headersSent: false, destroyed: true } as unknown as Response;
  requestContext({ now: () => 0, epochMs: () => 0 }, () => "1", new BodyMemory(0))(req, res, () => {});
  errorMapper(log)(thrown, req, res, () => {});
  return levels;
}

const BROKEN = new ApiError("internal_error", "Broken.");

test.each<[string, unknown, string[]]>([
  ["a fault of ours is an error", new TypeError("no such property"), ["error"]],
  ["so is one that was thrown as such", BROKEN, ["error"]],
  ["an overload is none: a flood would fill the log", unavailable("server_is_overloaded", "Too much.", 1), ["debug"]],
  ["nor is a wrong request", invalidRequest("invalid_value", "model", "Which one?"), ["debug"]],
  ["a client that left is nothing", new ClientGone(), []],
])("%s", (_, thrown, levels) => expect(levelsOf(thrown)).toEqual(levels));
