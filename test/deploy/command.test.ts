import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { CLI } from "../api/server.ts";

test("the built command is a program, as npx starts it in a checkout", () => {
  const { stdout, error } = spawnSync(CLI, ["--version"], { encoding: "utf8" });
  expect(error).toBeUndefined();
  expect(stdout).toBe(`${manifest.version}\n`);
});
