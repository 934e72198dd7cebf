import { z } from "zod";
import { anyObject } from "../any-object.ts";
import { boundedList } from "../bounded-schema.ts";
import { MAX_ALL_PARTS, partsOf } from "../generation/message.ts";
import { toolChecks, toolFields } from "../generation/tools.ts";
import type { RequestLimits } from "../request-limits.ts";
import { answerFields, generationFields, images } from "./fields.ts";

const MOST_CALLS = 128;
const MOST_NAME_CHARACTERS = 256;
const ROLES = ["system", "user", "assistant", "tool"] as const;

const role = z.preprocess((value) => (typeof value === "string" ? value.toLowerCase() : value), z.enum(ROLES));
const name = z.string().max(MOST_NAME_CHARACTERS);

const call = z.object({
  id: name.nullish(),
  function: z.object({
    index: z.int().nullish(),
    name,
    arguments: anyObject().nullish().describe("An object, not its text."),
  }),
});

/** POST /api/chat. Fields that are not named here are ignored. */
export function ollamaChatRequest(limits: RequestLimits) {
  const text = z.string().max(limits.textLength);
  const message = z.object({
    role,
    content: text.nullish(),
    thinking: text.nullish().describe("The reasoning before this answer, for the chat template."),
    images,
    tool_calls: boundedList(call, { max: MOST_CALLS }).nullish(),
    tool_name: name.nullish().describe("The function that a message of role `tool` has the result of."),
    tool_call_id: name
      .nullish()
      .describe(
        "The call that a message of role `tool` answers. Default: the first unanswered one, of `tool_name` if given.",
      ),
  });
  return z
    .object({
      ...generationFields,
      messages: z
        .preprocess((messages, context) => {
          if (Array.isArray(messages) && messages.length <= limits.messages && partsOf(messages) > MAX_ALL_PARTS) {
            const issue = `at most ${MAX_ALL_PARTS} tool calls of all messages together`;
            context.issues.push({ code: "custom", input: messages, message: issue, continue: false });
          }
          return messages;
        }, boundedList(message, { max: limits.messages }).nullish())
        .describe("None loads the model, and with `keep_alive: 0` unloads it."),
      tools: toolFields.tools,
      truncate: z
        .boolean()
        .nullish()
        .describe(
          "False: a prompt that is too long for the context is refused. Default true: it loses its oldest messages, until " +
            "there is room for the answer. Those of role `system` at the beginning stay, and the last one.",
        ),
    })
    .check(toolChecks);
}
export type OllamaChatRequest = z.infer<ReturnType<typeof ollamaChatRequest>>;
export type OllamaMessage = NonNullable<OllamaChatRequest["messages"]>[number];

/** A line of a streamed answer, and a whole answer. */
export const ollamaChatAnswer = z.object({
  ...answerFields,
  message: z.object({
    role: z.literal("assistant"),
    content: z.string(),
    thinking: z.string().optional(),
    tool_calls: z
      .array(
        z.object({
          id: z.string(),
          function: z.object({ index: z.int().min(0), name: z.string(), arguments: anyObject() }),
        }),
      )
      .optional()
      .describe("Whole calls: a stream has no parts of one."),
  }),
});
export type OllamaChatAnswer = z.infer<typeof ollamaChatAnswer>;
