import { describe, expect, it } from "vitest";
import { DEFAULT_SHIFT } from "../../../../batch/shift/shift-rules.ts";
import { OptionsError } from "../../../../platform/options-error.ts";
import { resolveOptions } from "../../../../server/options/read.ts";
import { checkRules } from "../../../../server/options/rules.ts";
import { EVENT_TYPES } from "../../../../webhooks/event-types.ts";

const read = (file: Record<string, unknown>, flags: Record<string, string> = {}, env: Record<string, string> = {}) =>
  resolveOptions({ flags, env, file: { path: "f.yaml", values: new Map(Object.entries(file)) } });
const problem = (file: Record<string, unknown>): string => {
  try {
    checkRules(read(file));
    return "";
  } catch (error) {
    expect(error).toBeInstanceOf(OptionsError);
    return (error as Error).message;
  }
};

describe("the shift", () => {
  const night = { mode: "night", night: ["Sat 00:00-24:00"], timezone: "Asia/Tokyo", trickle: 0.1, idleBelow: 0.3 };

  it("is a mode, from every source", () => {
    expect(read({ shift: "idle" }).shift).toEqual({ ...DEFAULT_SHIFT, mode: "idle" });
    expect(read({ shift: false }).shift.mode).toBe("off");
    expect(read({}, { shift: "night" }).shift).toEqual({ ...DEFAULT_SHIFT, mode: "night" });
    expect(read({}, {}, { NIGHTSHIFT_SHIFT: "off" }).shift.mode).toBe("off");
  });

  it("is a map in the file, with defaults for missing fields", () => {
    expect(read({ shift: night }).shift).toEqual(night);
    expect(read({ shift: { mode: "night", trickle: 0.5, timezone: null } }).shift).toEqual({
      ...DEFAULT_SHIFT,
      mode: "night",
      trickle: 0.5,
    });
  });

  it("takes the mode from flag or variable, and the windows still from the file", () => {
    expect(read({ shift: night }, { shift: "idle" }).shift).toEqual({ ...night, mode: "idle" });
    expect(read({ shift: night }, { shift: "always" }, { NIGHTSHIFT_SHIFT: "idle" }).shift.mode).toBe("always");
  });

  it("has the mode that the fields of a map imply", () => {
    expect(read({ shift: { night: "19:00-07:00" } }).shift).toMatchObject({ mode: "night", night: ["19:00-07:00"] });
    expect(read({ shift: { idleBelow: 0.1 } }).shift.mode).toBe("idle");
    expect(read({ shift: { timezone: "UTC" } }).shift.mode).toBe("always");
  });

  it.each([
    [{ shift: "sometimes" }, /must be one of always, idle, night, off; .*: mode: Invalid option/],
    [{ shift: { nite: [] } }, /Unrecognized key: "nite"/],
    [{ shift: { night: ["Mon 25:00-07:00"] } }, /night\.0: the window "Mon 25:00-07:00" has no time 25:00/],
    [{ shift: { night: [] } }, /night: /],
    [{ shift: { timezone: "Mars/Olympus" } }, /timezone: there is no such time zone/],
    [{ shift: { trickle: 2 } }, /trickle: /],
    [{ shift: ["night"] }, /expected object/],
  ])("refuses %j", (file, message) => {
    expect(problem(file)).toMatch(message);
  });
});

describe("webhooks", () => {
  const endpoint = { url: "https://Hooks.example", secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" };

  it("get all events by default", () => {
    expect(read({ webhooks: [endpoint] }).webhooks).toEqual([
      { url: "https://hooks.example/", secret: endpoint.secret, events: [...EVENT_TYPES] },
    ]);
    const some = { ...endpoint, secret: "plain", events: ["batch.failed", "batch.failed"] };
    expect(read({ webhooks: [some] }).webhooks[0]?.events).toEqual(["batch.failed"]);
  });

  it("are accepted only in the file", () => {
    const options = read({}, { webhooks: "x" }, { NIGHTSHIFT_WEBHOOKS: "x" });
    expect(options.webhooks).toEqual([]);
  });

  it.each([
    [{ ...endpoint, url: "hooks.example" }, /0\.url: is not a URL/],
    [{ ...endpoint, url: "https://me:topsecret@hooks.example" }, /0\.url: holds a user name/],
    [{ ...endpoint, secret: "whsec_top!secret" }, /0\.secret: is neither/],
    [{ ...endpoint, secret: "" }, /0\.secret: is neither/],
    [{ ...endpoint, secret: ["topsecret"] }, /0\.secret: /],
    [{ ...endpoint, events: ["batch.done"] }, /0\.events\.0: /],
    [{ ...endpoint, events: [] }, /0\.events: /],
    [{ ...endpoint, evnts: ["topsecret"] }, /0: Unrecognized key: "evnts"/],
    [{ url: endpoint.url }, /0\.secret: /],
    [{ ...endpoint, url: "https://10.0.0.1/" }, /^The url of webhooks, entry 1, leads to this machine or a private/],
    [{ ...endpoint, url: "http://hooks.example/" }, /entry 1, is not https/],
  ])("refuses %j and shows no secret", (one, message) => {
    expect(problem({ webhooks: [one] })).toMatch(message);
    expect(problem({ webhooks: [one] })).not.toMatch(/topsecret|top!secret|MfKQ/);
  });

  it("are refused with the same url twice", () => {
    expect(problem({ webhooks: [endpoint, { ...endpoint, url: "https://hooks.example/" }] })).toMatch(/the same url/);
    expect(problem({ webhooks: endpoint })).toMatch(/must be a list of maps.*expected array/);
  });

  it("may have private addresses if that is allowed", () => {
    expect(problem({ webhooks: [{ ...endpoint, url: "http://10.0.0.1/" }], webhookAllowPrivate: "on" })).toBe("");
  });
});
