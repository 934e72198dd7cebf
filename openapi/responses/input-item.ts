import { z } from "zod";
import { boundedList } from "../bounded-schema.ts";
import { MAX_ALL_PARTS } from "../generation/message.ts";
import type { Refusal } from "../refused-fields.ts";
import type { RequestLimits } from "../request-limits.ts";
import { itemStatus, MESSAGE_ROLES, messagePhase } from "./item.ts";
import { responseTools } from "./tools.ts";

const MAX_PARTS = 1024;
const MAX_ID = 256;
const MAX_CALL_ID = 256;
const MAX_NAME = 256;

const id = z.string().max(MAX_ID).nullish();
const status = itemStatus.nullish();
const callId = z.string().min(1).max(MAX_CALL_ID);
const name = z.string().max(MAX_NAME);

/** Types of items of hosted tools. They are skipped: a conversation goes on without them. */
const HOSTED = /^(mcp_|tool_search|item_)|_call$|_call_output$/;
const OWN = [
  "message",
  "function_call",
  "function_call_output",
  "custom_tool_call",
  "custom_tool_call_output",
  "reasoning",
  "item_reference",
  "additional_tools",
  "compaction",
  "compaction_trigger",
] as const;

function unsupported<Type extends string>(types: readonly [Type, ...Type[]], reason: string) {
  return z
    .object({ type: z.enum(types) })
    .check((context) => {
      const params: Refusal = { code: "unsupported_value" };
      const message = `${reason}, not '${context.value.type}'.`;
      context.issues.push({ code: "custom", input: context.value, params: { ...params }, message });
    })
    .describe("Refused with 400 `unsupported_value`.");
}

const foreignPart = unsupported(["input_image", "input_file", "input_audio"], "only parts with text are supported");

/**
 * One item of an input. Easy forms are read as what they mean: an item without `type` that has a role is a message, and
 * one with an id alone is a reference.
 */
function inputItem(limits: RequestLimits) {
  const text = z.string().max(limits.textLength);
  const textPart = z.object({ type: z.enum(["input_text", "output_text"]), text });
  const refusalPart = z.object({ type: z.literal("refusal"), refusal: text });
  const parts = boundedList(z.discriminatedUnion("type", [textPart, refusalPart, foreignPart]), { max: MAX_PARTS });
  const outputs = boundedList(z.discriminatedUnion("type", [textPart, foreignPart]), { max: MAX_PARTS });
  const output = z.union([text, outputs]).nullish().describe("Null is read as an empty text.");
  const thoughts = <Type extends string>(type: Type) => {
    return boundedList(z.object({ type: z.literal(type), text }), { max: MAX_PARTS }).nullish();
  };
  const known = z.discriminatedUnion("type", [
    z.object({
      type: z.literal("message"),
      role: z.enum(MESSAGE_ROLES),
      content: z.union([text, parts]).nullish().describe("Null is read as an empty text."),
      id,
      status,
      phase: messagePhase.nullish(),
    }),
    z.object({ type: z.literal("function_call"), call_id: callId, name, arguments: text, id, status }),
    z.object({ type: z.literal("function_call_output"), call_id: callId, output, id, status }),
    z.object({ type: z.literal("custom_tool_call"), call_id: callId, name, input: text, id, status }),
    z.object({ type: z.literal("custom_tool_call_output"), call_id: callId, output, id }),
    z.object({
      type: z.literal("reasoning"),
      summary: thoughts("summary_text"),
      content: thoughts("reasoning_text"),
      encrypted_content: text.nullish().describe("Preferred to `content`, and that to `summary`."),
      id,
      status,
    }),
    z.object({ type: z.literal("item_reference"), id: z.string().min(1).max(MAX_ID) }),
    z.object({ type: z.literal("additional_tools"), tools: responseTools }),
    z.object({ type: z.literal("hosted"), of: z.string() }).describe("An item of a hosted tool: skipped."),
    z.object({ type: z.literal("compaction"), encrypted_content: text, id }),
    z
      .object({ type: z.literal("compaction_trigger") })
      .describe("As the last item: the answer is a compaction of the items before."),
  ]);
  return z.preprocess(typed, known);
}

/** The items of one input. Parts are counted before they are validated, since zod copies each. */
export function inputItems(limits: RequestLimits, most = limits.messages) {
  return z.preprocess(
    (items, context) => {
      if (Array.isArray(items) && items.length <= most && partsOf(items) > MAX_ALL_PARTS) {
        const message = `at most ${MAX_ALL_PARTS} content parts of all items together`;
        context.issues.push({ code: "custom", input: items, message, continue: false });
      }
      return items;
    },
    boundedList(inputItem(limits), { max: most }),
  );
}

export type InputItem = z.infer<ReturnType<typeof inputItem>>;

function partsOf(items: readonly unknown[]): number {
  return items.reduce<number>((sum, item) => {
    const { content, output, summary }: Record<string, unknown> = Object(item);
    return sum + [content, output, summary].reduce<number>((parts, list) => parts + lengthOf(list), 0);
  }, 0);
}

function lengthOf(value: unknown): number {
  return Array.isArray(value) ? value.length : 0;
}

/** The item with the type that it means. */
function typed(item: unknown): unknown {
  if (typeof item !== "object" || item === null || Array.isArray(item)) return item;
  const { type, role, id: name }: { type?: unknown; role?: unknown; id?: unknown } = item;
  if (type == null) {
    if (role != null) return { ...item, type: "message" };
    return name != null ? { ...item, type: "item_reference" } : item;
  }
  const hosted = typeof type === "string" && !OWN.some((own) => own === type) && HOSTED.test(type);
  return hosted ? { type: "hosted", of: type } : item;
}

/** The ids of the references in a body's input, which may be invalid still. */
export function referencedIds(input: unknown, most: number): string[] {
  if (!Array.isArray(input) || input.length > most) return [];
  return input.flatMap((item) => {
    const { type, id: name }: { type?: unknown; id?: unknown } = Object(typed(item));
    return type === "item_reference" && typeof name === "string" && name.length <= MAX_ID ? [name] : [];
  });
}
