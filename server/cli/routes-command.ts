import { type RouteReport, routeList } from "../../openapi/resources/routes.ts";
import { ApiClient } from "./client/api-client.ts";
import { columns } from "./text/columns.ts";
import { grouped } from "./text/number-text.ts";

export interface RoutesFlags {
  /** Base URL of the server, such as http://127.0.0.1:8080/v1. */
  url?: string;
  json?: boolean;
}

/** Prints the routes of a server. Throws OptionsError. */
export async function routesCommand(flags: RoutesFlags): Promise<void> {
  const { data } = await new ApiClient(flags.url, process.env).call("GET", "nightshift/routes", routeList);
  process.stdout.write(flags.json ? `${JSON.stringify(data, null, 2)}\n` : routesText(data));
}

export function routesText(routes: readonly RouteReport[]): string {
  if (routes.length === 0) return "This server has no routes: `routes` in the configuration file adds one.\n";
  return `${routes.map(routeText).join("\n\n")}\n`;
}

function routeText({ name, choose, overflow, models, latest, saving_usd: saving }: RouteReport): string {
  const steps = overflow.length === 0 ? "" : `; overflow to ${overflow.join(", ")}`;
  return [
    `Route '${name}' (${choose}${steps})`,
    "",
    ...columns([HEAD, ...models.map(modelRow)], 2),
    "",
    ...(latest === null ? [] : [`Latest request: ${latest.model}, ${latest.reason}`]),
    `Saved since the server's start: ${usd(saving)}`,
  ].join("\n");
}

const HEAD = ["model", "state", "wait", "USD/request", "share", "saved USD", "requests by reason"];

function modelRow(model: RouteReport["models"][number]): string[] {
  const { id, state, predicted_wait_ms: wait, cost_usd: cost, share, saving_usd: saving, requests } = model;
  const reasons = Object.entries(requests).map(([reason, count]) => `${reason}: ${grouped(count)}`);
  return [
    id,
    state ?? "not served",
    wait === null ? "-" : `${grouped(wait)} ms`,
    cost === null ? "-" : cost.toFixed(6),
    `${Math.round(100 * share)} %`,
    saving.toFixed(6),
    reasons.join(", ") || "-",
  ];
}

function usd(amount: number): string {
  return `USD ${amount.toFixed(6)}`;
}
