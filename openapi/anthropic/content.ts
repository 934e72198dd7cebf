import { z } from "zod";
import { anyObject } from "../any-object.ts";
import { boundedList } from "../bounded-schema.ts";
import { MAX_ALL_PARTS } from "../generation/message.ts";
import type { Refusal } from "../refused-fields.ts";
import type { RequestLimits } from "../request-limits.ts";

const MAX_BLOCKS = 4096;
const MAX_NAME = 256;

/** Blocks of hosted tools, which do not exist here: histories of other servers have them. */
const HOSTED = [
  "server_tool_use",
  "web_search_tool_result",
  "web_fetch_tool_result",
  "code_execution_tool_result",
  "bash_code_execution_tool_result",
  "text_editor_code_execution_tool_result",
  "tool_search_tool_result",
  "mcp_tool_use",
  "mcp_tool_result",
  "container_upload",
  "compaction",
] as const;

/** A value that is refused by the name of its type. */
function refusedType<const Types extends readonly [string, ...string[]]>(types: Types, reason: string) {
  return z
    .object({ type: z.enum(types) })
    .check((context) => {
      const params: Refusal = { code: "unsupported_value" };
      const message = `${reason}, not '${context.value.type}'.`;
      context.issues.push({ code: "custom", input: context.value, params: { ...params }, message });
    })
    .describe(`Refused with 400: ${reason}.`);
}

/** The content of messages, results of tools and the system prompt. */
export function contentSchemas({ textLength }: Pick<RequestLimits, "textLength">) {
  const text = z.string().max(textLength);
  const name = z.string().max(MAX_NAME);
  const textBlock = z.object({ type: z.literal("text"), text });
  const textList = boundedList(textBlock, { max: MAX_BLOCKS });
  const image = refusedType(["image"], "only text is supported");
  const document = z.object({
    type: z.literal("document"),
    title: text.nullish(),
    context: text.nullish(),
    source: z.discriminatedUnion("type", [
      z.object({ type: z.literal("text"), data: text }),
      z.object({ type: z.literal("content"), content: z.union([text, textList]) }),
      refusedType(["base64", "url", "file"], "only documents of plain text are supported"),
    ]),
  });
  const searchResult = z.object({
    type: z.literal("search_result"),
    source: text,
    title: text,
    content: textList,
  });
  const reference = z.object({ type: z.literal("tool_reference"), tool_name: name });
  const resultBlock = z.discriminatedUnion("type", [textBlock, image, document, searchResult, reference]);
  const block = z.discriminatedUnion("type", [
    textBlock,
    image,
    document,
    searchResult,
    z.object({ type: z.literal("tool_use"), id: name, name, input: anyObject() }),
    z.object({
      type: z.literal("tool_result"),
      tool_use_id: name,
      content: z.union([text, boundedList(resultBlock, { max: MAX_BLOCKS })]).nullish(),
      is_error: z.boolean().nullish().describe("The result begins with `Error: ` in the prompt."),
    }),
    z
      .object({ type: z.literal("thinking"), thinking: text })
      .describe("Reasoning of an earlier answer, for the chat template. Its signature is not checked."),
    z.object({ type: z.enum(["redacted_thinking", ...HOSTED]) }).describe("Accepted and left out of the prompt."),
  ]);
  return {
    system: z.union([text, textList]).nullish().describe("Blocks are joined by a line break."),
    message: z.object({
      role: z.enum(["user", "assistant", "system"]),
      content: z.union([text, boundedList(block, { max: MAX_BLOCKS })]),
    }),
  };
}

type Schemas = ReturnType<typeof contentSchemas>;
export type SystemContent = z.infer<Schemas["system"]>;
export type MessageParam = z.infer<Schemas["message"]>;
export type ContentBlock = Exclude<MessageParam["content"], string>[number];
export type ResultContent = Extract<ContentBlock, { type: "tool_result" }>["content"];

/** The messages of one request. Blocks are counted before they are validated, since zod copies each. */
export function messageParams(limits: RequestLimits) {
  const { message } = contentSchemas(limits);
  return z.preprocess(
    (messages, context) => {
      if (Array.isArray(messages) && messages.length <= limits.messages && blocksOf(messages) > MAX_ALL_PARTS) {
        const excess = `at most ${MAX_ALL_PARTS} blocks of all messages together`;
        context.issues.push({ code: "custom", input: messages, message: excess, continue: false });
      }
      return messages;
    },
    boundedList(message, { min: 1, max: limits.messages }),
  );
}

/** Blocks in the contents of these values, with those in results of tools. */
function blocksOf(values: readonly unknown[]): number {
  return values.reduce<number>((sum, value) => {
    const { content }: { content?: unknown } = Object(value);
    return Array.isArray(content) ? sum + content.length + blocksOf(content) : sum;
  }, 0);
}
