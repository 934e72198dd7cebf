import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import type { ValidateRules } from "../../batch/validation/line-validator.ts";
import { type ValidationJob, ValidationLost } from "../../batch/validation/validation-job.ts";
import { ValidationPool } from "../../batch/validation/validation-pool.ts";
import { ValidationProcess, type ValidationProcessOptions } from "../../batch/validation/validation-process.ts";
import { OWN_NAMES } from "../../engine/model-names.ts";
import { DEFAULT_REQUEST_LIMITS } from "../../openapi/request-limits.ts";
import type { NewLines } from "../../store/types/line-row.ts";
import { isAlive } from "../api/server.ts";
import { until } from "../api/until.ts";
import { chatLine, jsonl } from "../batch/batch-rig.ts";

const RULES: ValidateRules = {
  endpoint: "/v1/chat/completions",
  limits: DEFAULT_REQUEST_LIMITS,
  models: ["demo"],
  names: OWN_NAMES,
  bounds: new Map(),
  maxLines: 50_000,
  maxLineBytes: 10 * 1024 ** 2,
  maxErrors: 3,
};

const folder = mkdtempSync(join(tmpdir(), "nightshift-validation-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const HOUR = 3_600_000;
const never = new AbortController().signal;
const nothing = async (): Promise<void> => {};
const log = { debug() {}, info() {}, warn() {}, error() {} };
let files = 0;

function job(text: string, more: Partial<ValidationJob> = {}): ValidationJob {
  const path = join(folder, `${files++}.jsonl`);
  writeFileSync(path, text);
  return { path, owner: "a", rules: RULES, alone: false, ...more };
}

const GOOD = jsonl([chatLine("a", "hi")]);
const MANY = jsonl(Array.from({ length: 3000 }, (_, i) => chatLine(`l${i}`, "hi")));
/** 8 MB of JSON and, parsed, a million strings of 24 bytes and more: more than the small heaps of these tests. */
const TOO_LARGE = jsonl([
  {
    custom_id: "a",
    method: "POST",
    url: "/v1/chat/completions",
    body: { model: "demo", x: Array.from({ length: 1_000_000 }, (_, i) => i.toString(36).padStart(5, "-")) },
  },
]);
const OPTIONS: ValidationProcessOptions = {
  log,
  heapMb: 128,
  entry: fileURLToPath(new URL("../../dist/batch/validation/main.js", import.meta.url)),
};

function started(options: Partial<ValidationProcessOptions> = {}): ValidationProcess {
  const validation = new ValidationProcess({ ...OPTIONS, ...options });
  onTestFinished(() => validation.stop());
  return validation;
}

/** A waiting job with unread chunks, in a running process. */
async function held(validation: ValidationProcess, owner = "a") {
  let chunks = 0;
  const over = validation.validate(
    job(MANY, { owner }),
    () => {
      chunks++;
      return new Promise(() => {});
    },
    never,
  );
  over.catch(() => {});
  await until("chunks to come", () => chunks > 0);
  return { over, pid: validation.pid! };
}

const GOOD_OUTCOME = { valid: true, model: "demo", lines: 1 };

describe("the validation process", () => {
  test("checks several files at once, and stays", async () => {
    const validation = started();
    const ids: string[] = [];
    const take = async ({ customIds }: NewLines) => void ids.push(...customIds);
    const both = await Promise.all([
      validation.validate(job(MANY), take, never),
      validation.validate(job(GOOD, { owner: "b" }), take, never),
    ]);
    expect(both).toEqual([{ valid: true, model: "demo", lines: 3000 }, GOOD_OUTCOME]);
    expect(new Set(ids).size).toBe(3001);
    const { pid } = validation;
    await validation.validate(job(GOOD), nothing, never);
    expect(validation.pid).toBe(pid);
  });

  test("loses all jobs when killed, and the next file starts it again", async () => {
    const validation = started();
    const [one, two] = [await held(validation), await held(validation, "b")];
    process.kill(one.pid, "SIGKILL");
    await expect(one.over).rejects.toBeInstanceOf(ValidationLost);
    await expect(two.over).rejects.toBeInstanceOf(ValidationLost);
    expect(await validation.validate(job(GOOD), nothing, never)).toEqual(GOOD_OUTCOME);
    expect(validation.pid).not.toBe(one.pid);
  });

  test("ends alone when its heap is exhausted", async () => {
    const validation = started({ heapMb: 16 });
    const lost = validation.validate(job(TOO_LARGE), nothing, never);
    await expect(lost).rejects.toBeInstanceOf(ValidationLost);
    expect(await validation.validate(job(GOOD), nothing, never)).toEqual(GOOD_OUTCOME);
  });

  test("is killed when it hangs", async () => {
    const validation = started({ silenceMs: HOUR });
    const { over, pid } = await held(validation);
    process.kill(pid, "SIGSTOP");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const other = validation.validate(job(GOOD), nothing, never);
    other.catch(() => {});
    vi.advanceTimersByTime(HOUR);
    vi.useRealTimers();
    await expect(other).rejects.toBeInstanceOf(ValidationLost);
    await expect(over).rejects.toBeInstanceOf(ValidationLost);
    await until("the process to be gone", () => !isAlive(pid));
  });

  test("ends cancelled jobs at once, without an open file", async () => {
    const validation = started();
    await validation.validate(job(GOOD), nothing, never);
    const openFiles = () => readdirSync(`/proc/${validation.pid}/fd`).length;
    const before = openFiles();
    for (let i = 0; i < 20; i++) {
      const given = new AbortController();
      const over = validation.validate(job(MANY), () => new Promise(() => {}), given.signal);
      if (i % 2 === 0) await new Promise(setImmediate);
      given.abort(new Error("given up"));
      await expect(over).rejects.toThrow("given up");
    }
    await validation.validate(job(GOOD), nothing, never);
    await until("all files to be closed", () => openFiles() <= before);
  });

  test("does not count temporary failures of files, store or start as a loss", async () => {
    const validation = started();
    const absent = { ...job(GOOD), path: join(folder, "absent") };
    const reasonOf = (over: Promise<unknown>) => over.then(null, (reason: unknown) => reason);
    const reasons = [
      await reasonOf(validation.validate(absent, nothing, never)),
      await reasonOf(validation.validate(job(GOOD), () => Promise.reject(new Error("full")), never)),
      await reasonOf(started({ entry: join(folder, "absent.mjs") }).validate(job(GOOD), nothing, never)),
    ];
    expect(reasons.map(String)).toEqual([
      expect.stringContaining("ENOENT"),
      "Error: full",
      expect.stringContaining("before it was ready"),
    ]);
    for (const reason of reasons) expect(reason).not.toBeInstanceOf(ValidationLost);
  });

  test("for a single file is separate: its end ends no other validation", async () => {
    const processes = new ValidationPool({ ...OPTIONS, heapMb: 16 });
    onTestFinished(() => processes.stop());
    let release = () => {};
    const taken = new Promise<void>((resolve) => {
      release = resolve;
    });
    let chunks = 0;
    const take = () => {
      chunks++;
      return taken;
    };
    const other = processes.validate(job(MANY), take, never);
    await until("chunks to come", () => chunks > 0);
    await expect(processes.validate(job(TOO_LARGE, { alone: true }), nothing, never)).rejects.toBeInstanceOf(
      ValidationLost,
    );
    release();
    expect(await other).toMatchObject({ valid: true, lines: 3000 });
  });
});
