import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { OptionsError } from "../../../../../platform/options-error.ts";
import { ApiClient } from "../../../../../server/cli/client/api-client.ts";
import { readUsageFlags } from "../../../../../server/cli/usage/usage-command.ts";
import {
  type Dimension,
  fetchUsage,
  type UsageReport,
  type UsageSpan,
} from "../../../../../server/cli/usage/usage-report.ts";
import { usageTable, usageText } from "../../../../../server/cli/usage/usage-text.ts";
import { ledgerRow } from "../../../store/rows.ts";
import { startTestServer, type TestServer } from "../../test-server.ts";

const DAY = 86_400;
const HOUR = 3600;
const CHAT = "/v1/chat/completions";
const TODAY = Math.floor(1_700_000_001 / DAY) * DAY;

describe("fetchUsage", () => {
  let server: TestServer;
  beforeEach(async () => {
    server = await startTestServer({ machineUsdPerHour: 3.6 });
    const batch = [0, 20, 40].map((ago, index) =>
      ledgerRow({
        time: TODAY - ago * DAY,
        tier: "batch",
        batchId: "b",
        line: index + 1,
        costNano: 500,
        keyId: "key_a",
      }),
    );
    const embedding = { endpoint: "/v1/embeddings", outputTokens: 0, cachedTokens: 0, costNano: 200 };
    await server.store.ledger.insert({
      rows: [...batch, ledgerRow({ time: TODAY, costNano: 1000 }), ledgerRow({ time: TODAY, ...embedding })],
    });
    const busy = { model: "demo", endpoint: CHAT };
    await server.store.machine.add({
      now: TODAY + HOUR,
      upUs: 100e6,
      busy: [
        { ...busy, tier: "batch", busyUs: 30e6 },
        { ...busy, tier: "default", busyUs: 5e6 },
        { ...busy, tier: "flex", busyUs: 10e6 },
      ],
    });
  });
  afterEach(() => server.close());

  function report(by: Dimension[], start = TODAY - 50 * DAY): Promise<UsageReport> {
    return fetchUsage(new ApiClient(`${server.url}/v1`, {}), { start, width: "1d", by });
  }

  test("sums all pages of both kinds of use, and adds the machine's time", async () => {
    const { rows, batchSavedNano, spans } = await report(["endpoint", "tier"]);
    expect(rows).toMatchObject([
      { names: { endpoint: CHAT, tier: "batch" }, requests: 3, costNano: 1500, machine: { seconds: 30, usd: 0.03 } },
      { names: { endpoint: CHAT, tier: "default" }, requests: 1, costNano: 1000, machine: { seconds: 5 } },
      {
        names: { endpoint: "/v1/embeddings", tier: "default" },
        requests: 1,
        inputTokens: 100,
        machine: { seconds: 0 },
      },
      // Computed, and not charged.
      { names: { endpoint: CHAT, tier: "flex" }, requests: 0, costNano: 0, machine: { seconds: 10, spotUsd: null } },
    ]);
    expect(batchSavedNano).toBe(1500);
    expect(spans).toHaveLength(51);
    expect(spans.at(-1)).toMatchObject({
      start: TODAY,
      costNano: 1700,
      machine: { seconds: 100, batch: 30, idle: 55 },
    });
    expect(spans.reduce((sum, { costNano }) => sum + costNano, 0)).toBe(2700);
  });

  test("groups by key and owner, without the machine's time", async () => {
    const { rows } = await report(["key", "owner"]);
    expect(rows.map(({ names, requests, machine }) => [names.key, names.owner, requests, machine])).toEqual([
      ["key_a", "local", 3, null],
      [null, "local", 2, null],
    ]);
  });

  test("prints a table with totals and bars, the machine's share per tier, and a line per day", async () => {
    const text = usageText(await report(["tier", "endpoint"], TODAY - DAY), "2d", 160);
    expect(text).toMatch(
      /^tier +endpoint +requests +input +cached +output +USD +USD\/M +machine s +machine USD +machine USD\/M$/m,
    );
    expect(text).toMatch(
      /^default +\/v1\/chat\/completions +1 +100 +40 +10 +0\.000001000 +0\.00909 +5\.0 +0\.005000000 +45\.5 +█{20}$/m,
    );
    expect(text).toMatch(/^total +3 +300 +80 +20 +0\.000001700 +0\.00531 +45\.0 +0\.045000000 +141$/m);
    expect(text).toContain("The batch discount saved USD 0.000000500 in the last 2d.");
    expect(text).toContain("The machine was up for 1.67 min: online 5.0 %, flex 10.0 %, batch 30.0 %, idle 55.0 %.");
    expect(text).toContain("It cost USD 0.100000000, idle time included USD 313 per million tokens.");
    expect(text).toMatch(/^2023-11-14 {2}0\.000001700 {2}█{3}▓{6}▒{18}·{33}$/m);
  });

  test("groups by upstream, with the tokens that it has not counted", async () => {
    const answered = { time: TODAY, version: "fp_gpu_48a1948cf9fb" };
    const rows = [
      ledgerRow({ ...answered, costNano: 7000 }),
      ledgerRow({ ...answered, costNano: 1, inputTokens: 70, outputTokens: 3, estimated: 1 }),
      ledgerRow({
        ...answered,
        costNano: 1,
        inputTokens: 2,
        outputTokens: 0,
        estimated: 1,
        endpoint: "/v1/embeddings",
      }),
    ];
    await server.store.ledger.insert({ rows });
    const found = await report(["upstream"]);
    expect(found.rows).toMatchObject([
      { names: { upstream: "gpu" }, requests: 3, estimatedRequests: 2, estimatedTokens: 75, machine: null },
      { names: { upstream: null }, requests: 5, estimatedRequests: 0, estimatedTokens: 0, machine: null },
    ]);
    const text = usageText(found, "50d", 160);
    expect(text).toMatch(/^upstream +requests +input +cached +output +USD +USD\/M +estimated$/m);
    expect(text).toMatch(/^gpu +3 +172 .* 75 +█{20}$/m);
    expect(text).toMatch(/^total +8 .* 75$/m);
    expect(usageTable(found)).toMatch(/^gpu,3,.*,2,75\r$/m);
  });

  test("prints CSV", async () => {
    const [head, first, ...rest] = usageTable(await report(["key", "model"])).split("\r\n");
    expect(head).toMatch(
      /^key,model,requests,input_tokens,.*,machine_usd,machine_spot_usd,estimated_requests,estimated_tokens$/,
    );
    expect(first).toBe("key_a,demo,3,300,120,30,0.000001500,0.000003000,,,,0,0");
    expect(rest).toHaveLength(2);
  });
});

describe("the printed report", () => {
  const names = { model: "m\u001b[2Jn", endpoint: CHAT, tier: "default" };
  const counts = {
    requests: 1,
    inputTokens: 1000,
    cachedTokens: 0,
    outputTokens: 10,
    estimatedRequests: 0,
    estimatedTokens: 0,
    costNano: 5,
    defaultCostNano: 5,
  };
  const machine = { seconds: 60, usd: 0.1, spotUsd: 0.05 };
  const span = (start: number): UsageSpan => {
    return { start, costNano: 5, machine: { ...machine, online: 30, flex: 0, batch: 0, idle: 30 } };
  };
  const report = (spans: UsageSpan[]): UsageReport => {
    return {
      start: 0,
      by: ["model", "endpoint", "tier"],
      rows: [{ names, ...counts, machine }],
      spans,
      batchSavedNano: 0,
    };
  };

  test.each([60, 80, 100, 120, 200])("fits a terminal of %i characters if its numbers do", (width) => {
    const lines = usageText(report([span(0)]), "7d", width).split("\n");
    const table = lines.slice(0, lines.indexOf(""));
    expect(table[0]).toContain("machine USD/M");
    expect(table[0]?.includes("cached")).toBe(width > 120);
    const needed =
      "m�[2Jn  /v1/chat/completions  default  input  output".length +
      "  0.000000005  0.100000000  machine USD/M".length;
    for (const line of [...table, ...lines.slice(-3)]) expect(line.length).toBeLessThanOrEqual(Math.max(width, needed));
  });

  test("replaces terminal control characters in names", () => {
    const text = usageText(report([span(0)]), "7d", 120);
    expect(text.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
    expect(text).toContain("m�[2Jn");
  });

  test("merges days that are too many for a chart, from the first day of use on", () => {
    const empty = { start: 0, costNano: 0, machine: null };
    const days = Array.from({ length: 100 }, (_, i) => (i < 10 ? { ...empty, start: i * DAY } : span(i * DAY)));
    const lines = usageText(report(days), "100d", 100)
      .split("\n")
      .filter((line) => /^19/.test(line));
    expect(lines).toHaveLength(30);
    expect(lines[0]).toMatch(/^1970-01-11 {2}0\.000000015 {2}█+·+$/);
  });

  test("labels lines of one hour with the hour", () => {
    const hours = Array.from({ length: 5 }, (_, i) => ({ start: i * HOUR, costNano: 0, machine: null }));
    const lines = usageText(report([...hours, span(5 * HOUR)]), "6h", 80).split("\n");
    expect(lines.at(-2)).toMatch(/^1970-01-01 05:00 {2}0\.000000005 {2}█+·+$/);
  });

  test("has bars of cost without the machine's time, and of tokens if all were free", () => {
    const spans = [5, 10].map((costNano, i) => ({ start: i * DAY, costNano, machine: null }));
    const row = { names, ...counts, machine: null };
    const free = [row, { ...row, inputTokens: 485 }].map((each) => ({ ...each, costNano: 0 }));
    const lines = usageText({ ...report(spans), rows: free }, "2d", 120).split("\n");
    expect(lines[0]).toMatch(/USD {2,}USD\/M$/);
    expect(lines[1]).toMatch(/ 1,000 .* 0 {2}█{20}$/);
    expect(lines[2]).toMatch(/ 485 .* 0 {2}█{9}▊$/);
    expect(lines.slice(-3, -1).map((line) => line.split("█").length - 1)).toEqual([30, 60]);
    expect(lines.join("\n")).not.toContain("machine");
  });

  test("reports that nothing was used", () => {
    expect(usageText({ ...report([]), rows: [] }, "24h", 80)).toBe("Nothing was used in the last 24h.\n");
  });
});

describe("readUsageFlags", () => {
  test("returns the start of an hour and the dimensions in their order", () => {
    const now = 1_700_000_001_000;
    const hour = Math.floor(1_700_000_001 / HOUR) * HOUR;
    expect(readUsageFlags({ since: "7d", by: "tier,key" }, now)).toEqual({
      start: hour - 7 * DAY,
      width: "1d",
      by: ["tier", "key"],
    });
    expect(readUsageFlags({ since: "48h", by: "model" }, now)).toMatchObject({ start: hour - 2 * DAY, width: "1h" });
    expect(readUsageFlags({ since: "2w", by: "model" }, now)).toMatchObject({ start: hour - 14 * DAY, width: "1d" });
  });

  test.each([
    { since: "0h", by: "model" },
    { since: "7", by: "model" },
    { since: "99999d", by: "model" },
    { since: "7d", by: "" },
    { since: "7d", by: "model,model" },
    { since: "7d", by: "model,colour" },
  ])("are refused: %o", (flags) => {
    expect(() => readUsageFlags(flags, 1_700_000_001_000)).toThrow(OptionsError);
  });
});
