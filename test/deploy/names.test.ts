import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { metricsPage } from "./metrics-page.ts";
import { type Expression, readExpression, type Selector } from "./promql.ts";
import { servedAfterTraffic } from "./running-server.ts";
import type { Served } from "./served.ts";

interface Rule {
  record?: string;
  alert?: string;
  expr: string;
  annotations?: Record<string, string>;
}

interface Panel {
  id: number;
  type: string;
  title: string;
  description?: string;
  datasource?: { uid: string };
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { expr: string; legendFormat: string; datasource: { uid: string } }[];
}

interface Dashboard {
  panels: Panel[];
  annotations: { list: { expr?: string }[] };
  templating: { list: { name: string; query: string | { query: string } }[] };
}

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const groups: { name: string; rules: Rule[] }[] = parse(read("deploy/prometheus/alerts.yml")).groups;
const rules = groups.flatMap((group) => group.rules);
const recorded = new Map(
  rules.flatMap(({ record, expr }) => (record ? [[record, readExpression(expr)] as const] : [])),
);
const dashboard: Dashboard = JSON.parse(read("deploy/grafana/nightshift.json"));
const shown = dashboard.panels.filter(({ type }) => type !== "row");

/** Labels that Prometheus adds to every series. */
const FROM_PROMETHEUS = ["instance", "job"];

let served: Served;
beforeAll(async () => {
  served = await servedAfterTraffic();
});

/** Series and labels of the expression that no server has. */
function strange(text: string): string[] {
  const { selectors, groupings } = readExpression(text);
  const known = selectors.flatMap(({ name }) => labelsOf(name));
  return [
    ...selectors.flatMap(strangeIn),
    ...groupings.filter((label) => !known.includes(label)).map((label) => `by (${label})`),
  ];
}

function strangeIn({ name, matchers }: Selector): string[] {
  if (name !== "up" && !recorded.has(name) && !served.has(name)) return [name];
  return matchers.flatMap(({ label, operator, value }) => {
    const where = `${name}{${label}${operator}"${value}"}`;
    if (!labelsOf(name).includes(label)) return [where];
    // Values of variables, and labels that Prometheus adds, are unknown here.
    if (value.includes("$") || FROM_PROMETHEUS.includes(label) || recorded.has(name)) return [];
    const values = served.valuesOf(name, label);
    const wanted = operator === "=" || operator === "!=" ? [value] : value.split("|");
    return wanted.every((one) => values.includes(one)) ? [] : [where];
  });
}

function labelsOf(name: string): string[] {
  return [...served.labelsOf(name), ...(recorded.get(name)?.groupings ?? []), ...FROM_PROMETHEUS];
}

/** Labels of the result. */
function resultLabels({ selectors, groupings }: Expression): string[] {
  return groupings.length > 0 ? groupings : selectors.flatMap(({ name }) => labelsOf(name));
}

/** Variables of Grafana in the place of a duration. */
function filledIn(text: string): string {
  return text.replaceAll("$__rate_interval", "1m");
}

it("docs/metrics.md has every metric of a server", async () => {
  for (const { name, labels } of served.metrics.values()) {
    expect(name).toMatch(/^nightshift_/);
    expect(["endpoint", "model", "reason", "route", "status", "tier", "upstream"]).toEqual(
      expect.arrayContaining([...labels]),
    );
  }
  await expect(metricsPage(served.metrics.values())).toMatchFileSnapshot("../../docs/metrics.md");
});

it("the check finds unknown series and labels", () => {
  expect(strange('rate(nightshift_batch_lines_total{status="gone"}[5m])')).toHaveLength(1);
  expect(strange("nightshift_no_such_thing")).toEqual(["nightshift_no_such_thing"]);
  expect(strange("sum by (batch) (nightshift_requests_running)")).toEqual(["by (batch)"]);
  expect(strange('nightshift_step_seconds_bucket{le="0.123"}')).toHaveLength(1);
});

describe("the alerts", () => {
  it.each(rules.map((rule) => [rule.alert ?? rule.record ?? "", rule] as const))(
    "%s",
    (name, { expr, annotations }) => {
      expect(strange(expr)).toEqual([]);
      const labels = resultLabels(readExpression(expr));
      const texts = Object.values(annotations ?? {}).join(" ");
      for (const [, label = ""] of texts.matchAll(/\$labels\.(\w+)/g)) expect(labels).toContain(label);
      if (annotations) expect(read("docs/observability.md")).toContain(`\`${name}\``);
    },
  );

  it.each([
    ["time_to_first_token_seconds", "ttft"],
    ["inter_token_latency_seconds", "itl"],
  ])("of %s compare the percentile of their burn rate with the served objective", (metric, short) => {
    const own = rules.filter(({ record }) => record?.includes(`_${short}_`));
    expect(own).toHaveLength(8);
    for (const { record = "", expr } of own) {
      const [, percentile, window] = /:p(\d+)_rate(\w+)$/.exec(record) ?? [];
      expect(expr).toContain(`histogram_quantile(0.${percentile}, `);
      expect(expr.match(/\[\w+\]/g)).toEqual([`[${window}]`, `[${window}]`]);
      const { selectors } = readExpression(expr);
      expect(selectors.map(({ name }) => name)).toEqual([
        `nightshift_${metric}_bucket`,
        `nightshift_objective_${metric}`,
      ]);
      expect(selectors.flatMap(({ matchers }) => matchers.map(({ label }) => label))).toEqual(["tier"]);
    }
    const page = read("docs/observability.md");
    for (const [, percentile = ""] of own.flatMap(({ record = "" }) => [...record.matchAll(/:p(\d+)_/g)])) {
      const late = (100 - Number(`0.${percentile}`) * 100).toFixed(1).replace(/\.0$/, "");
      expect(page).toContain(`| ${late} | ${late} %, `);
    }
  });
});

describe("the dashboard", () => {
  it.each(shown.map((panel) => [panel.title, panel] as const))("%s", (_, { targets, description, datasource }) => {
    expect(description).toBeTruthy();
    expect(targets?.length).toBeGreaterThan(0);
    for (const { expr, legendFormat, datasource: source } of targets ?? []) {
      for (const { uid } of [source, datasource!]) expect(uid).toMatch(/^\$\{datasource\}$/);
      expect(strange(filledIn(expr))).toEqual([]);
      const labels = resultLabels(readExpression(filledIn(expr)));
      for (const [, label = ""] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) expect(labels).toContain(label);
    }
  });

  it("has annotations and variables of served series", () => {
    const marks = dashboard.annotations.list.flatMap(({ expr }) => (expr === undefined ? [] : [expr]));
    expect(marks.flatMap(strange)).toEqual([]);
    const queries = dashboard.templating.list.flatMap(({ query }) => (typeof query === "string" ? [] : [query.query]));
    for (const query of queries) {
      const [, selector = "", label = ""] = /^label_values\((.*), (\w+)\)$/.exec(query) ?? [];
      expect(strange(selector)).toEqual([]);
      expect(labelsOf(readExpression(selector).selectors[0]!.name)).toContain(label);
    }
  });

  it("has panels with distinct positions and ids", () => {
    const taken = new Set<string>();
    for (const { gridPos } of dashboard.panels) {
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(taken.has(`${x},${y}`)).toBe(false);
          taken.add(`${x},${y}`);
        }
    }
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    expect(new Set(shown.map(({ title }) => title)).size).toBe(shown.length);
  });
});
