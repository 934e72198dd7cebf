import { z } from "zod";
import { boundedList } from "../bounded-schema.ts";
import type { Refusal } from "../refused-fields.ts";
import { refusedField } from "../refused-fields.ts";
import type { RequestLimits } from "../request-limits.ts";

const MAX_PARTS = 1024;
/** Most content parts and tool calls of all messages together: two for each of the most messages. */
export const MAX_ALL_PARTS = 8192;
const MAX_TOOL_CALLS = 128;
const MAX_NAME_LENGTH = 256;

const name = z.string().max(MAX_NAME_LENGTH).nullish();

export const FOREIGN_PART_TYPES = [
  "image",
  "image_url",
  "input_audio",
  "file",
  "video_url",
  "audio_url",
  "file_url",
] as const;

/** Content parts of OpenAI's API that are not supported: refused by name, and no URL is fetched. */
const foreignPart = z
  .object({ type: z.enum(FOREIGN_PART_TYPES) })
  .check((context) => {
    const params: Refusal = { code: "unsupported_value" };
    const message = `only parts of type 'text' are supported, not '${context.value.type}'.`;
    context.issues.push({ code: "custom", input: context.value, params: { ...params }, message });
  })
  .describe("Refused with 400 `unsupported_value`: only text content is supported.");

const toolCall = z.object({
  id: z.string().max(MAX_NAME_LENGTH),
  type: z.literal("function"),
  function: z.object({ name: z.string().max(MAX_NAME_LENGTH), arguments: z.string() }),
});

/** One message of a chat request. Content parts are joined by a line break. */
function chatMessage(limits: RequestLimits) {
  const text = z.string().max(limits.textLength);
  const textPart = z.object({ type: z.literal("text"), text });
  const refusalPart = z.object({ type: z.literal("refusal"), refusal: text });
  const parts = boundedList(z.discriminatedUnion("type", [textPart, foreignPart]), { min: 1, max: MAX_PARTS });
  const answerParts = boundedList(z.discriminatedUnion("type", [textPart, refusalPart, foreignPart]), {
    min: 1,
    max: MAX_PARTS,
  });
  const content = z.union([text, parts]);

  const assistant = z
    .object({
      role: z.literal("assistant"),
      content: z.union([text, answerParts]).nullish(),
      refusal: text.nullish().describe("Used as the content when there is none."),
      reasoning_content: text.nullish().describe("Extension: the reasoning before this answer, for the chat template."),
      name,
      tool_calls: boundedList(toolCall, { max: MAX_TOOL_CALLS }).nullish(),
      function_call: z
        .object({ name: z.string().max(MAX_NAME_LENGTH), arguments: z.string() })
        .nullish()
        .describe("Deprecated; rendered as one tool call."),
      audio: refusedField("audio is not supported."),
    })
    .check((context) => {
      const { content, refusal, tool_calls, function_call } = context.value;
      if (content != null || refusal != null || tool_calls?.length || function_call != null) return;
      const message = "it is required unless 'tool_calls' or 'function_call' is given";
      context.issues.push({ code: "custom", input: context.value, path: ["content"], message });
    });

  return z.discriminatedUnion("role", [
    z.object({ role: z.literal("developer"), content, name }),
    z.object({ role: z.literal("system"), content, name }),
    z.object({ role: z.literal("user"), content, name }),
    assistant,
    z.object({ role: z.literal("tool"), content, tool_call_id: z.string().max(MAX_NAME_LENGTH) }),
    z.object({ role: z.literal("function"), content: text.nullable(), name: z.string().max(MAX_NAME_LENGTH) }),
  ]);
}

/** The messages of one request. Parts and tool calls are counted before they are validated, since zod copies each. */
export function chatMessages(limits: RequestLimits) {
  return z.preprocess(
    (messages, context) => {
      if (Array.isArray(messages) && messages.length <= limits.messages && partsOf(messages) > MAX_ALL_PARTS) {
        const message = `at most ${MAX_ALL_PARTS} content parts and tool calls of all messages together`;
        context.issues.push({ code: "custom", input: messages, message, continue: false });
      }
      return messages;
    },
    boundedList(chatMessage(limits), { min: 1, max: limits.messages }),
  );
}

/** Content parts and tool calls of all messages. */
export function partsOf(messages: readonly unknown[]): number {
  return messages.reduce<number>((sum, message) => {
    const { content, tool_calls: calls }: { content?: unknown; tool_calls?: unknown } = Object(message);
    return sum + lengthOf(content) + lengthOf(calls);
  }, 0);
}

function lengthOf(value: unknown): number {
  return Array.isArray(value) ? value.length : 0;
}

export type RequestMessage = z.infer<ReturnType<typeof chatMessage>>;
