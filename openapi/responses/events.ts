import { z } from "zod";
import { outputItem, outputText, reasoningText, summaryText, tokenLogprobs } from "./item.ts";
import { responseObject } from "./response.ts";

const sequence_number = z.int().min(0).describe("From 0, in the order of the events.");
const output_index = z.int().min(0);
const place = { item_id: z.string(), output_index, sequence_number };
const content = { ...place, content_index: z.int().min(0) };
const summary = { ...place, summary_index: z.int().min(0) };
const delta = z.string();
const text = z.string();

function event<Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape) {
  return z.object({ type: z.literal(type), ...shape });
}

const ofResponse = { sequence_number, response: responseObject };
const ofItem = { sequence_number, output_index, item: outputItem };
const part = z.discriminatedUnion("type", [outputText, reasoningText]);
const fault = {
  code: z.string().nullable(),
  message: z.string(),
  param: z.string().nullable(),
};

/** One event of a stream. The name of the event is its `type`. */
export const responseStreamEvent = z.discriminatedUnion("type", [
  event("response.created", ofResponse),
  event("response.queued", ofResponse),
  event("response.in_progress", ofResponse),
  event("response.completed", ofResponse),
  event("response.incomplete", ofResponse),
  event("response.failed", ofResponse),
  event("response.output_item.added", ofItem),
  event("response.output_item.done", ofItem),
  event("response.content_part.added", { ...content, part }),
  event("response.content_part.done", { ...content, part }),
  event("response.output_text.delta", { ...content, delta, logprobs: tokenLogprobs }),
  event("response.output_text.done", { ...content, text, logprobs: tokenLogprobs }),
  event("response.reasoning_text.delta", { ...content, delta }),
  event("response.reasoning_text.done", { ...content, text }),
  event("response.reasoning_summary_part.added", { ...summary, part: summaryText }),
  event("response.reasoning_summary_part.done", { ...summary, part: summaryText }),
  event("response.reasoning_summary_text.delta", { ...summary, delta }),
  event("response.reasoning_summary_text.done", { ...summary, text }),
  event("response.function_call_arguments.delta", { ...place, delta }),
  event("response.function_call_arguments.done", { ...place, name: z.string(), arguments: z.string() }),
  event("response.custom_tool_call_input.delta", { ...place, delta }),
  event("response.custom_tool_call_input.done", { ...place, input: z.string() }),
  event("error", { sequence_number, ...fault, error: z.object({ type: z.string(), ...fault }) }),
]);
export type ResponseStreamEvent = z.infer<typeof responseStreamEvent>;
