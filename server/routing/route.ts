import type { WindowSchedule } from "../../batch/shift/window-schedule.ts";
import type { OnlineTier } from "../../engine/protocol/request.ts";
import type { OverflowStep, RouteChoice } from "../options/kinds/route-kind.ts";

/** The condition of a rule: true where all that it names hold. */
export interface RouteCondition {
  /** Estimated tokens of the prompt, at least. */
  promptTokens?: number;
  /** Whether the request offers tools. */
  tools?: boolean;
  /** Whether the answer has a form: a JSON schema, any JSON, or a grammar. */
  form?: boolean;
  tiers?: readonly OnlineTier[];
  owners?: readonly string[];
  /** A pattern that the last message of the user has. */
  text?: RegExp;
  /** Milliseconds that the first model is predicted to wait, at least. */
  waitMs?: number;
  hours?: WindowSchedule;
  /** Share, 0 to 1, that is left of a budget of the key or its owner, at most. */
  budgetLeft?: number;
}

export interface RouteRule {
  when: RouteCondition;
  model: string;
}

/** A name of several models: each request goes to one of them. */
export interface Route {
  name: string;
  /** The first is used by batches. */
  models: readonly string[];
  /** The first rule that holds decides. */
  rules: readonly RouteRule[];
  choose: RouteChoice;
  /** The steps for a request that its model refuses for load, or is not ready for: another model, then tier flex. */
  overflow: readonly OverflowStep[];
}
