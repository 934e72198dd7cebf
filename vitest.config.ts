import { defineConfig } from "vitest/config";

const UNIT = "test/unit/**/*.test.ts";
/** The API once more with a second server under the one under test, as its upstream; their tests skip what that cannot have. */
const OVER_UPSTREAM = ["chat", "streaming", "structured", "tools", "responses", "compaction", "anthropic"];

export default defineConfig({
  test: {
    // One more than the two cores: servers under test wait for processes, timers and the disk about a third of the time.
    maxWorkers: 3,
    // To load the modules anew for each of the many files took a third of all time.
    isolate: false,
    // Generous: a limit ends a test that hangs, and says nothing about how fast the machine is.
    testTimeout: 400_000,
    hookTimeout: 400_000,
    expect: { poll: { timeout: 200_000 } },
    // In this order, which is that of their names: the many short files come last, so that all workers end together.
    projects: [
      {
        extends: true,
        test: {
          name: "over an upstream",
          include: OVER_UPSTREAM.map((suite) => `test/api/${suite}.test.ts`),
          env: { TEST_OVER_UPSTREAM: "1" },
        },
      },
      { extends: true, test: { name: "servers", include: ["test/**/*.test.ts"], exclude: [UNIT] } },
      { extends: true, test: { name: "unit", include: [UNIT] } },
    ],
  },
});
