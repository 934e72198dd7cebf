// npm test: sets up what is missing, checks types, lints and runs the tests; arguments are passed to vitest.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { root, setUp } from "./setup.mjs";

setUp();

const work = mkdtempSync(join(tmpdir(), "nightshift-test-"));
const report = join(work, "report.json");
const checks = [
  ["Types", "typescript", "tsc", ["--noEmit"]],
  ["Lint", "@biomejs/biome", "biome", ["check", "."]],
  ["Tests", "vitest", "vitest", ["run", "--reporter=default", "--reporter=json", `--outputFile.json=${report}`]],
];
const failed = [];
for (const [title, packageName, command, args] of checks) {
  console.log(`\n${title} (${command} ${args.slice(0, 2).join(" ")})`);
  const own = title === "Tests" ? process.argv.slice(2) : [];
  const { status } = spawnSync(process.execPath, [binOf(packageName, command), ...args, ...own], {
    cwd: root,
    stdio: "inherit",
  });
  if (status !== 0) failed.push(title);
}
const counts = countTests();
rmSync(work, { recursive: true });

for (const title of failed) console.log(`${title}: failed`);
// A failed check counts once, and so does a run that failed although each of its tests passed (such as a leaked error).
const others = failed.filter((title) => title !== "Tests" || counts.failed === 0).length;
console.log(`${counts.passed} passed, ${counts.failed + others} failed`);
process.exitCode = failed.length === 0 ? 0 : 1;

/** A file that could not be loaded has no tests and counts as one failure. */
function countTests() {
  let results;
  try {
    results = JSON.parse(readFileSync(report, "utf8"));
  } catch {
    return { passed: 0, failed: 0 };
  }
  const unloadable = results.testResults.filter(
    (file) => file.status === "failed" && file.assertionResults.length === 0,
  );
  return { passed: results.numPassedTests, failed: results.numFailedTests + unloadable.length };
}

function binOf(packageName, command) {
  const manifest = createRequire(join(root, "package.json")).resolve(`${packageName}/package.json`);
  const { bin } = JSON.parse(readFileSync(manifest, "utf8"));
  return join(dirname(manifest), typeof bin === "string" ? bin : bin[command]);
}
