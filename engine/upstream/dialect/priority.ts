import type { Tier } from "../../protocol/request.ts";

export const PRIORITY_STYLES = ["none", "vllm", "sglang", "dynamo", "llm-d", "smg", "service_tier"] as const;
/** The way in which an upstream takes the priority of a request. It can't be asked for, and a wrong one is an error there. */
export type PriorityStyle = (typeof PRIORITY_STYLES)[number];

/** The fields and headers that tell an upstream the tier of a request. */
export interface PriorityMarks {
  body: Record<string, unknown>;
  headers: Record<string, string>;
}

const NO_MARKS: PriorityMarks = { body: {}, headers: {} };

/** Steps of ten: SGLang preempts from a difference of ten on. Lower goes first. */
const ORDER: Readonly<Record<Tier, number>> = { priority: -10, default: 0, flex: 10, batch: 20 };
const SMG: Readonly<Record<Tier, string>> = {
  priority: "interactive",
  default: "default",
  flex: "bulk",
  batch: "bulk",
};

/**
 * | style | where | first is |
 * |---|---|---|
 * | vllm (`--scheduling-policy priority`) | `priority` | the lowest |
 * | sglang (`--enable-priority-scheduling`) | `priority` | the highest |
 * | dynamo | `x-dynamo-request-priority` | the highest |
 * | llm-d | `x-llm-d-inference-objective`, which names an InferenceObjective | by that object |
 * | smg | `x-smg-priority` | interactive, default, bulk |
 * | service_tier | `service_tier` of OpenAI's API | priority, default, flex |
 */
export function priorityMarks(style: PriorityStyle, tier: Tier): PriorityMarks {
  switch (style) {
    case "none":
      return NO_MARKS;
    case "vllm":
      return { body: { priority: ORDER[tier] }, headers: {} };
    case "sglang":
      return { body: { priority: -ORDER[tier] }, headers: {} };
    case "dynamo":
      return { body: {}, headers: { "x-dynamo-request-priority": String(-ORDER[tier]) } };
    case "llm-d":
      return { body: {}, headers: { "x-llm-d-inference-objective": `nightshift-${tier}` } };
    case "smg":
      return { body: {}, headers: { "x-smg-priority": SMG[tier] } };
    case "service_tier":
      return { body: tier === "default" ? {} : { service_tier: tier === "batch" ? "flex" : tier }, headers: {} };
  }
}
