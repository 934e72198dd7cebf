import { type EngineReport, engineList } from "../../openapi/resources/engine.ts";
import { OptionsError } from "../../platform/options-error.ts";
import { ApiClient } from "./client/api-client.ts";
import { bar } from "./text/bar.ts";
import { columns } from "./text/columns.ts";
import { grouped, short } from "./text/number-text.ts";

export interface PlanFlags {
  /** Base URL of the server, such as http://127.0.0.1:8080/v1. */
  url?: string;
  json?: boolean;
}

type Status = NonNullable<EngineReport["status"]>;
type Forecast = NonNullable<Status["forecast"]>;
type BatchSize = Forecast["batch_sizes"][number];

/** Share of a token's price that doubling the batch must save to be worth its latency. */
const WORTHWHILE = 0.05;
const BAR_WIDTH = 20;

/** Prints the measured cost of a server's engines by batch size. Throws OptionsError, also if no model has a fit yet. */
export async function planCommand(flags: PlanFlags): Promise<void> {
  const { data } = await new ApiClient(flags.url, process.env).call("GET", "nightshift/engine", engineList);
  process.stdout.write(flags.json ? `${JSON.stringify(data, null, 2)}\n` : planText(data));
}

/** The plan of each model with a fit, and the reason for each without. Throws OptionsError if no model has one. */
export function planText(reports: readonly EngineReport[]): string {
  const fitted = reports.some(({ status }) => status?.forecast);
  if (!fitted) throw new OptionsError(reports.map(whyNone).join("\n"));
  return `${reports.map((report) => modelPlan(report)).join("\n\n")}\n`;
}

function whyNone({ model, state, status }: EngineReport): string {
  if (status === null) return `Model '${model}': the engine reports no status; its state is ${state}.`;
  const { decode } = status.step_model.steps;
  return (
    `Model '${model}': too few steps were measured for a plan: ${decode} decode steps so far. ` +
    "Run some requests, then try again."
  );
}

function modelPlan(report: EngineReport): string {
  const { model, status } = report;
  if (!status?.forecast || !status.caps || !status.step_model.fit) return whyNone(report);
  return [
    `Model '${model}'`,
    "",
    ...fitLines(status.step_model.fit, status),
    "",
    ...capLines(status.caps),
    "",
    ...forecastLines(status.forecast),
    "",
    worthwhile(status.forecast.batch_sizes),
  ].join("\n");
}

function fitLines({ o, p, d, k, r, m }: NonNullable<Status["step_model"]["fit"]>, { step_model }: Status): string[] {
  const { steps, error } = step_model;
  return [
    `Step cost: ${short(o)} ms, plus ${short(p)} ms per prompt token, ${short(d)} ms per decoded token, ` +
      `${short(1000 * k)} ms per 1,000 positions that decodes attend over, ${short(1000 * r)} ms per 1,000 of prompts, and ${short(m)} ms per additional pass over the weights.`,
    `Measured over ${grouped(steps.prefill)} steps with prompt tokens and ${grouped(steps.decode)} decode-only steps; ` +
      `median prediction error ${(100 * error.median).toFixed(1)} %.`,
  ];
}

function capLines({ alone, beside_online }: NonNullable<Status["caps"]>): string[] {
  const head = ["online streams", "step ms", "with batch ms", "batch decodes"];
  const rows = beside_online.map((row) => [
    String(row.streams),
    short(row.online_ms),
    short(row.step_ms),
    String(row.decodes),
  ]);
  return [
    `Without online work, steps of flex and batch take at most ${short(alone.step_ms)} ms: ${alone.decodes} decodes or ` +
      `${alone.prefill_tokens} prompt tokens. Beside online streams:`,
    "",
    ...(rows.length > 0 ? columns([head, ...rows], 0) : []),
  ];
}

/** Table and chart: the bars show tokens/s and the price of a token, which is its share of the step. */
function forecastLines({ context_tokens, machine_usd_per_hour: hour, ...forecast }: Forecast): string[] {
  const { batch_sizes: sizes, machine_spot_usd_per_hour: spotHour } = forecast;
  const fastest = Math.max(...sizes.map(({ tokens_per_second }) => tokens_per_second));
  const dearest = Math.max(...sizes.map(perToken));
  const head = ["batch", "step ms", "tokens/s", "USD/M", "spot USD/M"];
  const rows = sizes.map((size) => [
    `${size.batch_size}${size.extrapolated ? "*" : " "}`,
    short(size.step_ms),
    short(size.tokens_per_second),
    money(size.usd_per_million_tokens),
    money(size.spot_usd_per_million_tokens),
  ]);
  const table = columns([head, ...rows], 0);
  const chart = [
    `${"tokens/s".padEnd(BAR_WIDTH)}  price of a token`,
    ...sizes.map(
      (size) =>
        `${bar(size.tokens_per_second / fastest, BAR_WIDTH).padEnd(BAR_WIDTH)}  ${bar(perToken(size) / dearest, BAR_WIDTH)}`,
    ),
  ];
  return [
    `Output tokens of sequences of ${grouped(context_tokens)} tokens${priced(hour, spotHour)}:`,
    "",
    ...table.map((line, i) => `${line}  ${chart[i]}`),
    ...(sizes.some(({ extrapolated }) => extrapolated) ? ["* more than twice what was measured: extrapolated"] : []),
  ];
}

function priced(hour: number | null, spotHour: number | null): string {
  const prices = [
    ...(hour === null ? [] : [`USD ${hour} an hour`]),
    ...(spotHour === null ? [] : [`USD ${spotHour} as a spot machine`]),
  ];
  if (prices.length > 0) return `, on a machine at ${prices.join(", ")}`;
  return " (no prices: the server runs without --machine-usd-per-hour)";
}

function worthwhile(sizes: readonly BatchSize[]): string {
  const saving = (i: number) => 1 - perToken(sizes[i + 1]!) / perToken(sizes[i]!);
  const last = sizes.length - 1;
  const from = sizes.findIndex((_, i) => i < last && saving(i) < WORTHWHILE);
  if (from >= 0)
    return `From a batch of ${sizes[from]!.batch_size} on, doubling it saves less than 5 % of a token's price.`;
  return `Up to a batch of ${sizes[last]!.batch_size}, each doubling saves 5 % or more of a token's price.`;
}

/** Milliseconds of machine time per token. */
function perToken({ step_ms, batch_size }: BatchSize): number {
  return step_ms / batch_size;
}

function money(usd: number | null): string {
  return usd === null ? "-" : short(usd);
}
