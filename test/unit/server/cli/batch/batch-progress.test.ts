import { describe, expect, it } from "vitest";
import type { Batch } from "../../../../../openapi/resources/batches.ts";
import { BatchProgress, batchLine } from "../../../../../server/cli/batch/batch-progress.ts";

const NOW = 1_700_000_000;

/** A batch of 200 lines that runs, half of them done. */
function running(changed: Partial<Batch> = {}, night: Partial<Batch["nightshift"]> = {}): Batch {
  return {
    id: "batch_1",
    object: "batch",
    endpoint: "/v1/chat/completions",
    model: "demo",
    errors: null,
    input_file_id: "file-1",
    completion_window: "24h",
    status: "in_progress",
    output_file_id: null,
    error_file_id: null,
    created_at: NOW - 60,
    in_progress_at: NOW - 50,
    expires_at: NOW + 86_340,
    finalizing_at: null,
    completed_at: null,
    failed_at: null,
    expired_at: null,
    cancelling_at: null,
    cancelled_at: null,
    request_counts: { total: 200, completed: 100, failed: 0 },
    usage: {
      input_tokens: 1,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 1,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 2,
    },
    metadata: null,
    nightshift: {
      phase: "running",
      reason: "always: at any hour",
      position: 1,
      eta: NOW + 90,
      progress: { tokens_total: 1000, tokens_done: 500, tokens_per_second: 12.5, lines_in_engine: 3 },
      cost: { usd: 0.001234 },
      ...night,
    },
    ...changed,
  };
}

const counts = (completed: number, failed = 0) => ({ request_counts: { total: 200, completed, failed } });

describe("batchLine", () => {
  it("shows bar, lines, rate, time left and cost of a running batch", () => {
    const line = batchLine(running(), NOW * 1000);
    const bar = `${"█".repeat(12)}${"░".repeat(12)} 50 %`;
    expect(line).toBe(`${bar}, 100 of 200 lines, 12.5 tokens/s, 1 min left, USD 0.001234`);
  });

  it("counts failed lines as done, and shows their number", () => {
    expect(batchLine(running(counts(100, 50)), NOW * 1000)).toMatch(/ 75 %, 150 of 200 lines, 50 failed, /);
  });

  it("fills the bar only when every line is done", () => {
    expect(batchLine(running(counts(199)), NOW * 1000)).toMatch(/^█{23}░ 99 %/);
    expect(batchLine(running(counts(200)), NOW * 1000)).toMatch(/^█{24} 100 %/);
  });

  it("omits unknown values", () => {
    const progress = { tokens_total: 1000, tokens_done: 0, tokens_per_second: null, lines_in_engine: 0 };
    const line = batchLine(running(counts(0), { progress, eta: null }), NOW * 1000);
    expect(line).toBe(`${"░".repeat(24)} 0 %, 0 of 200 lines, USD 0.001234`);
  });

  it("shows the reason of a waiting batch", () => {
    expect(batchLine(running({}, { phase: "waiting", reason: "night: it is day" }), NOW * 1000)).toMatch(
      /, night: it is day$/,
    );
  });

  it.each([
    [-5, "0 s left"],
    [0.2, "1 s left"],
    [59, "59 s left"],
    [60, "1 min left"],
    [3599, "59 min left"],
    [7260, "2 h 1 min left"],
  ])("shows %d seconds as %s", (seconds, text) => {
    expect(batchLine(running({}, { eta: NOW + 100 }), (NOW + 100 - seconds) * 1000)).toContain(`, ${text},`);
  });

  it("shows status and reason of a batch that does not run", () => {
    const line = batchLine(running({ status: "validating" }, { reason: "being checked" }), NOW * 1000);
    expect(line).toBe("validating: being checked");
  });
});

describe("BatchProgress", () => {
  it("redraws one line on a terminal, cut to its width", () => {
    const written: string[] = [];
    const progress = new BatchProgress({ isTTY: true, columns: 40, write: (text) => written.push(text) });
    for (let done = 0; done <= 3; done++) progress.show(running(counts(done)), NOW * 1000);
    progress.end();
    expect(written).toHaveLength(5);
    for (const text of written.slice(0, 4)) {
      expect(text.startsWith("\r\x1b[2K░")).toBe(true);
      expect(text.slice("\r\x1b[2K".length)).toHaveLength(39);
    }
    expect(written[4]).toBe("\n");
  });

  it("writes a line per tenth of the lines and per status elsewhere", () => {
    const written: string[] = [];
    const progress = new BatchProgress({ write: (text) => written.push(text) });
    progress.show(running({ status: "validating", ...counts(0) }), NOW * 1000);
    for (let done = 0; done <= 200; done++) progress.show(running(counts(done)), NOW * 1000);
    for (const done of [100, 200]) progress.show(running({ status: "cancelling", ...counts(done) }), NOW * 1000);
    progress.end();
    expect(written).toHaveLength(13);
    expect(written[0]).toMatch(/^validating: .*\n$/);
    expect(written[6]).toMatch(/ 50 %, 100 of 200 lines/);
    expect(written[12]).toMatch(/^cancelling: /);
  });
});
