// Sets up a checkout: packages, build, GPU libraries. Uses Node alone, as nothing else is installed yet. Does only what
// is missing: a second run reads a few files and is done.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { setUpEngineBinaries } from "./engine-binaries.mjs";
import { sqliteAddonFits } from "./sqlite-addon.mjs";

export const root = fileURLToPath(new URL("..", import.meta.url));

/** Source folders of the product; a change in them causes a build. */
const sourceFolders = [
  "server",
  "batch",
  "files",
  "backup",
  "ledger",
  "webhooks",
  "store",
  "engine",
  "grammar",
  "openapi",
  "platform",
  "bench",
];

/** Prints its progress; exits with status 1 and a reason when it fails. */
export function setUp() {
  requireNode();
  if (!packagesInstalled()) {
    say("Installing packages (npm ci) …");
    // Packages provide their binaries as optional packages; the one required install script is run by name below.
    if (!npm(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])) fail("npm ci failed; its output is above.");
  }
  if (!sqliteAddonFits(root)) {
    say(`Fetching or compiling SQLite for Node ${process.versions.node} (a minute or two) …`);
    if (!npm(["rebuild", "better-sqlite3"]) || !sqliteAddonFits(root))
      fail("SQLite could not be compiled: install python3, make and a C++ compiler.");
  }
  const sources = hashOfSources();
  if (read("dist/.sources") !== sources) {
    say("Building …");
    build();
    writeFileSync(join(root, "dist/.sources"), sources);
  }
  setUpEngineBinaries({ root, npm, say });
}

function requireNode() {
  const wanted = JSON.parse(read("package.json")).engines.node;
  const [major, minor] = wanted.replace(">=", "").split(".").map(Number);
  const [hasMajor, hasMinor] = process.versions.node.split(".").map(Number);
  if (hasMajor > major || (hasMajor === major && hasMinor >= minor)) return;
  fail(`Nightshift needs Node.js ${major}.${minor} or newer; this is ${process.version}. See https://nodejs.org`);
}

/** True when npm's record of installed packages has every package of package-lock.json in its version. */
function packagesInstalled() {
  const record = read("node_modules/.package-lock.json");
  if (record === null) return false;
  const installed = JSON.parse(record).packages;
  const locked = JSON.parse(read("package-lock.json")).packages;
  return Object.entries(locked).every(([path, wanted]) => {
    if (path === "") return true;
    const has = installed[path];
    // An optional package for another platform is not installed.
    return has ? has.version === wanted.version && has.integrity === wanted.integrity : wanted.optional === true;
  });
}

function hashOfSources() {
  const hash = createHash("sha256");
  // Bundles include packages too.
  for (const file of ["package-lock.json", "scripts/build.mjs"]) hash.update(read(file));
  for (const folder of sourceFolders) {
    for (const file of filesIn(folder)) hash.update(`${file}\n`).update(readFileSync(join(root, file)));
  }
  return hash.digest("hex");
}

function build() {
  rmSync(join(root, "dist/.sources"), { force: true });
  if (!run(process.execPath, ["scripts/build.mjs"])) fail("The build failed; its output is above.");
}

function filesIn(folder) {
  const entries = readdirSync(join(root, folder), { withFileTypes: true });
  return entries
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => (entry.isDirectory() ? filesIn(`${folder}/${entry.name}`) : [`${folder}/${entry.name}`]));
}

function npm(args) {
  // Under `npm start` the calling npm is used, else the one in PATH.
  const own = process.env.npm_execpath;
  if (own?.endsWith("npm-cli.js")) return run(process.execPath, [own, ...args]);
  return run("npm", args, { shell: process.platform === "win32" });
}

function run(command, args, options) {
  return spawnSync(command, args, { cwd: root, stdio: ["ignore", 2, 2], ...options }).status === 0;
}

function read(file) {
  try {
    return readFileSync(join(root, file), "utf8");
  } catch {
    return null;
  }
}

function say(line) {
  process.stderr.write(`${line}\n`);
}

function fail(reason) {
  say(reason);
  process.exit(1);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) setUp();
