import { parseNightWindow } from "../../batch/shift/window-parser.ts";
import { WindowSchedule } from "../../batch/shift/window-schedule.ts";
import type { RouteSettings } from "../options/kinds/route-kind.ts";
import type { Route } from "./route.ts";

/** The routes of the options; hours are in this time zone. */
export function configuredRoutes(settings: RouteSettings, timezone: string): Route[] {
  return Object.entries(settings).map(([name, { rules, ...route }]) => ({
    name,
    ...route,
    rules: rules.map(({ when: { text, hours, ...when }, model }) => ({
      model,
      when: {
        ...when,
        ...(text !== undefined && { text: new RegExp(text, "iu") }),
        ...(hours !== undefined && { hours: new WindowSchedule(hours.map(parseNightWindow), timezone) }),
      },
    })),
  }));
}

/** Each route's name stands for its first model where nothing is routed: in batches, and in the list of models. */
export function routeAliases(settings: RouteSettings): Record<string, string> {
  return Object.fromEntries(Object.entries(settings).map(([name, { models }]) => [name, models[0]!]));
}
