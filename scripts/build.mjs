// npm run build: bundles each program into dist/, at the path of its source. Loading some three hundred modules one by
// one takes half a second of a server's start; loading a few bundles takes a fraction of that.
import { chmodSync, readdirSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const root = fileURLToPath(new URL("..", import.meta.url));

const programs = [
  // The command line.
  "server/cli",
  // Processes and threads, started by programUrl() of platform/installation.ts.
  "engine/worker/main",
  "engine/worker/text/render-thread",
  "batch/validation/main",
  "server/grammar/main",
  "store/thread/worker",
  "bench/flood/flood-process",
  "bench/responsive/responsive-thread",
  // Parts that tests run, and kill, in processes of their own.
  "store/store",
  "store/thread/migrate",
];

/** Native addons, and packages that load files beside themselves or start threads from them. */
const EXTERNAL = /^(?:better-sqlite3|koffi|node-llama-cpp|pino)(?:\/|$)/;

const bundle = await rolldown({
  cwd: root,
  input: Object.fromEntries(programs.map((program) => [program, `${program}.ts`])),
  platform: "node",
  external: EXTERNAL,
  onLog(level, log, handle) {
    // bottleneck wraps its optional require of Redis clients, unused here, in eval().
    if (log.code !== "EVAL" || !log.id?.includes("/node_modules/bottleneck/")) handle(level, log);
  },
});
const { output } = await bundle.write({
  dir: "dist",
  format: "esm",
  chunkFileNames: "chunks/[name].js",
  sourcemap: true,
});
// npx in a checkout runs it as a program.
chmodSync(join(root, "dist/server/cli.js"), 0o755);
const written = new Set(output.map(({ fileName }) => join("dist", fileName)));
// A running server may still import from dist, so it is not emptied first; only files that this build did not write are
// removed.
for (const entry of readdirSync(join(root, "dist"), { recursive: true, withFileTypes: true })) {
  const file = join(entry.parentPath, entry.name);
  if (entry.isFile() && !written.has(relative(root, file))) rmSync(file);
}
