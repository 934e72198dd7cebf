import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import { LiveValue } from "../../../../platform/live-value.ts";
import { OptionsError } from "../../../../platform/options-error.ts";
import { Reload } from "../../../../server/lifecycle/reload.ts";
import { Hangup } from "../../../../server/lifecycle/sighup.ts";
import { resolveOptions } from "../../../../server/options/read.ts";
import type { Options } from "../../../../server/options/table.ts";

function options(flags: Record<string, string> = {}): Options {
  return resolveOptions({ flags, env: {}, file: null });
}

/** A reload whose next options are `next.read()`, with all that it did. */
function reloading() {
  const applied: Options[] = [];
  const said: { fields: object; message: string }[] = [];
  const say = (fields: object, message: string) => void said.push({ fields, message });
  const next = { read: async () => options() };
  const log = { debug: say, info: say, warn: say, error: say };
  const live = new LiveValue(options());
  live.watch((one) => void applied.push(one));
  const reload = new Reload(live, { read: () => next.read(), log });
  return { reload, live, next, applied, said };
}

it("applies the options, and logs which changed and which need a restart", async () => {
  const { reload, live, next, applied, said } = reloading();
  next.read = async () => options({ queueLimit: "3", shift: "off", port: "9000", batchTax: "0.2" });
  await reload.request();
  expect(applied).toEqual([live.current]);
  expect(live.current.queueLimit).toBe(3);
  expect(said).toEqual([
    { fields: { changed: ["queueLimit", "shift"] }, message: "Options were reloaded" },
    { fields: { options: ["port", "batchTax"] }, message: "These options changed too, which takes a restart" },
  ]);
  // Against what was read last, or the same warning would come each time.
  await reload.request();
  expect(said.at(-1)).toEqual({ fields: { changed: [] }, message: "Options were reloaded: none changed" });
});

it("changes nothing on an OptionsError, logs it, and rejects with other errors", async () => {
  const { reload, next, applied, said } = reloading();
  next.read = () => Promise.reject(new OptionsError("line 3 is wrong"));
  await reload.request();
  expect(applied).toEqual([]);
  expect(said).toMatchObject([{ fields: { reason: "line 3 is wrong" }, message: /nothing was changed/ }]);
  next.read = () => Promise.reject(new TypeError("a bug"));
  await expect(reload.request()).rejects.toThrow("a bug");
});

it("reads once per request, one after the other", async () => {
  const { reload, next, applied } = reloading();
  let reading = 0;
  next.read = async () => {
    expect(++reading).toBe(1);
    await new Promise(setImmediate);
    reading--;
    return options();
  };
  await Promise.all([reload.request(), reload.request(), reload.request()]);
  expect(applied).toHaveLength(3);
});

it("a SIGHUP during the start causes one reload after it", () => {
  const events = new EventEmitter();
  const hangup = new Hangup(() => false, "linux").listen(events);
  events.emit("SIGHUP");
  events.emit("SIGHUP");
  let reloads = 0;
  hangup.handle({ reload: () => reloads++, closed: () => {} });
  expect(reloads).toBe(1);
  events.emit("SIGHUP");
  expect(reloads).toBe(2);
});

it.each([
  ["without a terminal", [false, false], "linux", true, false],
  ["in a terminal that is still there", [true, true], "linux", true, false],
  ["in a terminal that was closed", [true, false], "linux", true, true],
  ["in a terminal that was closed, but with no standard stream on it (nohup)", [true, false], "linux", false, false],
  ["on Windows", [false, false], "win32", true, true],
] as const)("a SIGHUP %s ends the server: %s", (_where, answers, platform, onTerminal, ends) => {
  const left = [...answers];
  expect(
    new Hangup(
      () => left.shift()!,
      platform,
      () => onTerminal,
    ).isTerminalClosed(),
  ).toBe(ends);
});
