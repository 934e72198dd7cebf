import { parseNightWindow } from "../../batch/shift/window-parser.ts";
import { WindowSchedule } from "../../batch/shift/window-schedule.ts";
import { OptionsError } from "../../platform/options-error.ts";
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

/**
 * The aliases with those of routes: each route's name stands for its first model where nothing is routed, in batches and in the
 * list of models. Throws OptionsError for a route with the name of a model or of an alias.
 */
export function aliasesWithRoutes(
  { alias, routes: settings }: { alias: Readonly<Record<string, string>>; routes: RouteSettings },
  served: readonly string[],
): Record<string, string> {
  for (const name of Object.keys(settings)) {
    const of = served.includes(name) ? "a model" : Object.hasOwn(alias, name) ? "an alias" : null;
    if (of === null) continue;
    throw new OptionsError(`The route '${name}' has the name of ${of}: rename one of them, so that requests mean one.`);
  }
  return { ...alias, ...routeNames(settings) };
}

function routeNames(settings: RouteSettings): Record<string, string> {
  return Object.fromEntries(Object.entries(settings).map(([name, { models }]) => [name, models[0]!]));
}
