import { afterAll, beforeAll, expect, test } from "vitest";
import { laboratory } from "../../bench/suite/laboratory.ts";
import { chatTraffic, scaled, type Traffic } from "../../bench/suite/load/traffic.ts";
import { PRESETS } from "../../bench/suite/preset.ts";
import { twoShifts } from "../../bench/suite/scenarios/two-shifts.ts";
import { connect, type Target } from "../../bench/target/target.ts";
import { startServer, type TestServer } from "../api/server.ts";

let server: TestServer;
let own: Target;

beforeAll(async () => {
  server = await startServer("--sequences", "16", "--context", "512", "--threads", "1");
  own = await connect("nightshift", new URL(`${server.origin}/v1/`), "demo", false);
});

afterAll(async () => {
  own.agent.destroy();
  await server.stop();
});

/** Fixed arrivals on every machine: half a second at a fraction of a slow machine's capacity may have none. */
function someArrivals(): Traffic {
  const { source, draw } = scaled(chatTraffic(), 64, 256);
  return { source, draw: (_rate, seconds, random) => draw(8 / seconds, seconds, random) };
}

test("the suite's two shifts measure a real batch beside real arrivals", async () => {
  const said: string[] = [];
  const shifts = { seconds: 0.5, settleMs: 50, line: { prompt: 16, tokens: 16 } };
  const lab = laboratory({
    own,
    peers: [],
    preset: { ...PRESETS.cpu, sequences: 16, context: 512, clients: 8, shifts },
    repeats: 1,
    seed: 1,
    traffic: someArrivals(),
    ceiling: null,
    say: (text) => said.push(text),
  });
  const { head, rows, goals, warnings } = await twoShifts.run(lab);
  expect(rows).toHaveLength(5);
  const cell = (row: number, column: string) => Number.parseFloat(rows[row]![head.indexOf(column)]!);
  // a batch alone, and beside each load
  for (const row of [0, 2, 4]) expect(cell(row, "batch tokens/s")).toBeGreaterThan(0);
  for (const row of [1, 2, 3, 4]) {
    expect(cell(row, "TTFT p99 ms")).toBeGreaterThan(0);
    expect(cell(row, "of all repeats")).toBeGreaterThan(0);
  }
  expect(goals).toHaveLength(6);
  expect(warnings.filter((warning) => warning.includes("failed"))).toEqual([]);
  expect(said.length).toBeGreaterThan(5);
});
