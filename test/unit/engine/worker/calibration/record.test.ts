import { EventEmitter } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { CalibrationRecord } from "../../../../../engine/worker/calibration/record.ts";
import type { Sample } from "../../../../../engine/worker/calibration/sample.ts";

const SAMPLES: Sample[] = [{ flash: "auto", rows: 1, sequences: 1, depth: 0, ms: 2.5 }];

function directory(): string {
  const path = mkdtempSync(join(tmpdir(), "nightshift-calibration-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return join(path, "calibration");
}

test("a record is found for the same identity only", () => {
  const folder = directory();
  const record = new CalibrationRecord(folder, ["model", 1]);
  expect(record.read()).toBeNull();
  expect(record.begin()).toBe(true);
  record.end(SAMPLES);
  expect(new CalibrationRecord(folder, ["model", 1]).read()).toEqual(SAMPLES);
  expect(new CalibrationRecord(folder, ["model", 2]).read()).toBeNull();
  expect(readdirSync(folder)).toHaveLength(1);
});

test("after two attempts that ended the process no more are made", () => {
  const folder = directory();
  const attempt = () => new CalibrationRecord(folder, "model").begin();
  expect([attempt(), attempt(), attempt()]).toEqual([true, true, false]);
});

test("an attempt during which the server ended does not count", () => {
  const folder = directory();
  for (let i = 0; i < 4; i++) {
    const link = new EventEmitter();
    const left: string[] = [];
    link.once("disconnect", () => left.push(...readdirSync(folder)));
    expect(new CalibrationRecord(folder, "model", link).begin()).toBe(true);
    link.emit("disconnect");
    // The mark is gone before another listener ends the process.
    expect(left).toEqual([]);
  }
});

test("a finished record removes its listener", () => {
  const link = new EventEmitter();
  const record = new CalibrationRecord(directory(), "model", link);
  record.begin();
  record.end(SAMPLES);
  expect(link.listenerCount("disconnect")).toBe(0);
});

test("an attempt that failed without ending the process is repeated", () => {
  const folder = directory();
  for (let i = 0; i < 4; i++) {
    const record = new CalibrationRecord(folder, "model");
    expect(record.begin()).toBe(true);
    record.end(null);
    expect(record.read()).toBeNull();
  }
});

test.each([
  "{",
  "null",
  '{"flash":"auto"}',
  '[{"flash":"auto","rows":1,"sequences":1,"depth":0,"ms":null}]',
  '[{"flash":"x","rows":1,"sequences":1,"depth":0,"ms":1}]',
  '[{"flash":"auto","rows":1,"sequences":1,"depth":-1,"ms":1}]',
])("a file that holds %s is measured again", (text) => {
  const folder = directory();
  const record = new CalibrationRecord(folder, "model");
  record.begin();
  record.end(SAMPLES);
  writeFileSync(join(folder, readdirSync(folder)[0]!), text);
  expect(record.read()).toBeNull();
});

test("without a writable directory no attempt is made", () => {
  const file = join(directory(), "..", "file");
  writeFileSync(file, "");
  const record = new CalibrationRecord(join(file, "calibration"), "model");
  expect(record.begin()).toBe(false);
  record.end(SAMPLES);
  expect(record.read()).toBeNull();
});
