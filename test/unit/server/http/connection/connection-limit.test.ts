import { expect, it } from "vitest";
import { OptionsError } from "../../../../../platform/options-error.ts";
import { checkOpenFiles, connectionsWithin } from "../../../../../server/http/connection/connection-limit.ts";

it("a limit of open files below the minimum is an error with advice", () => {
  expect(() => checkOpenFiles(64)).toThrow(OptionsError);
  expect(() => checkOpenFiles(96)).toThrow(/may have 96 files open, and needs 128.*ulimit -n/);
  for (const enough of [128, 65_536, null]) expect(() => checkOpenFiles(enough)).not.toThrow();
});

it("a low limit of open files reduces the connections", () => {
  expect(connectionsWithin(null, 4096)).toBe(4096);
  expect(connectionsWithin(128, 4096)).toBe(16);
  expect(connectionsWithin(1024, 4096)).toBe(384);
});
