import { ApiError } from "../../openapi/api-error.ts";
import { reportedNames } from "../../openapi/ignored-fields.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Admission, RequestWaits } from "../admission/admission.ts";
import type { InFlight } from "../admission/start-timeout.ts";
import type { UsageLimits } from "../admission/usage-limits.ts";
import { noteUse } from "../http/access-log.ts";
import { readJson } from "../http/body/json-body.ts";
import { ClientGone } from "../http/connection/client-gone.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { AppOptions } from "../options/app-options.ts";
import type { RouteTally } from "../routing/route-tally.ts";
import type { Router, Routing } from "../routing/router.ts";
import { Deferral, type DeferralDeps } from "./deferral.ts";
import type { InferenceEndpoint, Outcome } from "./endpoint.ts";
import type { Exchange } from "./exchange.ts";
import { RequestCount } from "./request-count.ts";
import { firstOf, type Target, targetsOf } from "./targets.ts";

export interface AnswerDeps extends DeferralDeps {
  admission: Admission;
  limits: UsageLimits;
  router: Pick<Router, "route" | "readsBudget">;
  routeTally: Pick<RouteTally, "took" | "charged">;
  metrics: Pick<Metrics, "meter" | "turnedAway">;
  options: Pick<AppOptions, "bodyLimit">;
  clock: Clock;
}

const UNBOUNDED: RequestWaits = { predictedMs: null, startMs: null };

/**
 * The path of every request that generates, embeds, ranks or only tokenizes. The order of the checks is the order of the
 * refusals: a request with several faults is refused for the first. Throws the ApiError of a refused request.
 */
export async function answer(exchange: Exchange, endpoint: InferenceEndpoint, deps: AnswerDeps): Promise<void> {
  const { admission, clock, limits, router } = deps;
  const { caller, req, res } = exchange;
  const count = new RequestCount(deps.metrics, endpoint.label);
  let deferral = null as Deferral | null;
  try {
    if (endpoint.refusesUnread) admission.refuseUnread(req.headers, caller);
    const body = await readJson(req, res, deps.options.bodyLimit, endpoint.anyContentType);
    if (await endpoint.answered?.(body, exchange)) return;
    const request = await endpoint.parse(body, exchange);
    if (request.ignored.length > 0) {
      res.setHeader("x-nightshift-ignored", reportedNames(request.ignored).join(", "));
    }
    const budgetLeft = router.readsBudget(request.model) ? await limits.budgetLeft(caller) : null;
    const routing = router.route(request, caller, budgetLeft);
    const admitted = await firstOf(
      targetsOf(request, routing, caller),
      async ({ model: name, request: asked, overflow }) => {
        const model = await admission.enter({ model: name, tier: asked.tier }, caller, exchange.disconnected);
        if (asked.metered) count.identify(model.id, asked.tier ?? "default");
        const ready = admission.ready(model);
        const run = await asked.prepare(ready, exchange);

        deferral = Deferral.preferred(exchange, request.jobEndpoint, body);
        const { tier, requests, bounded, predictedWaitMs } = run.demand;
        const tierBounds = bounded ? admission.waitBounds(tier) : UNBOUNDED;
        const { predictedMs, startMs } = deferral?.within(tierBounds) ?? tierBounds;
        const position = { tier, owner: caller.owner };
        admission.admit(ready, { ...position, requests, maxPredictedWaitMs: predictedMs, predictedWaitMs });
        return { ready, run, position, startMs, overflow };
      },
    );
    const { ready, run, position, startMs, overflow } = admitted;
    if (routing !== null) noteRoute(exchange, routing, { model: ready.model.id, overflow }, deps);

    const charge = await limits.reserve(caller, () => run.estimate(), res);
    try {
      exchange.throwIfGone();
      const inQueue = () => ({ ...position, waitedMs: clock.now() - exchange.arrivedAt, startTimeoutMs: startMs });
      const outcomeOf = <T>(inFlight: InFlight<T>) => admission.outcomeOf(inFlight, ready, inQueue());
      const outcome = await run.start({ exchange, charge, count, outcomeOf });
      count.ended(outcome.status);
      charge.settle(outcome);
      if (routing !== null && outcome.charged && outcome.use !== null) deps.routeTally.charged(routing, outcome.use);
      noteOutcome(exchange, outcome);
      await outcome.send?.();
    } catch (error) {
      charge.fail(error);
      throw error;
    } finally {
      charge.release();
    }
  } catch (thrown) {
    const error = deferral === null ? thrown : await deferral.replace(thrown, deps);
    if (error === null) return count.ended("put_off");
    count.failed(error);
    if (!(error instanceof ClientGone)) throw named(error, endpoint);
  }
}

/** The client and the tally get the model that took the request, and the reason. */
function noteRoute(
  { res }: Exchange,
  routing: Routing,
  { model, overflow }: { model: string; overflow: Target["overflow"] },
  { routeTally }: Pick<AnswerDeps, "routeTally">,
): void {
  const why = overflow ?? routing.reason;
  if (!res.headersSent) res.setHeader("x-nightshift-route", encodeURI(`${routing.route}=${model}; ${why}`));
  routeTally.took(routing, model, why);
}

/** The error with the endpoint's own name of the messages: the engine knows only that of chats. */
function named(error: unknown, { messagesField }: InferenceEndpoint): unknown {
  if (messagesField === undefined || !(error instanceof ApiError) || error.param !== "messages") return error;
  return error.withParam(messagesField);
}

/** Notes tokens and outcome for the access log. */
function noteOutcome({ req }: Exchange, { status, use }: Outcome): void {
  if (use === null) return;
  const { model, tier, inputTokens, cachedTokens, outputTokens } = use;
  noteUse(req, { model, tier, outcome: status, inputTokens, cachedTokens, outputTokens });
}
