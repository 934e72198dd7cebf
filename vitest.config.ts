import { defineConfig } from "vitest/config";

const UNIT = "test/unit/**/*.test.ts";

export default defineConfig({
  test: {
    // Two cores: more files at once only make the real servers of the API tests wait for each other.
    maxWorkers: 2,
    // Generous: a limit ends a test that hangs, and says nothing about how fast the machine is.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    projects: [
      // To load the modules anew for each of the many small files took longer than to run them.
      { extends: true, test: { name: "unit", include: [UNIT], isolate: false } },
      { extends: true, test: { name: "servers", include: ["test/**/*.test.ts"], exclude: [UNIT] } },
    ],
  },
});
