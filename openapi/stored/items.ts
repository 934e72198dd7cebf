import { z } from "zod";
import { anyObject } from "../any-object.ts";
import { listOf, listQuery } from "../list.ts";
import { flag } from "../query-value.ts";

const ROLES = ["user", "assistant", "system", "developer"];
const MAX_ID = 128;

/** An item that a client adds: a message, by its role, or an item of another type. Its further fields are kept as they are. */
export const newItem = anyObject()
  .check(({ value, issues }) => {
    const refuse = (name: string, message: string) =>
      void issues.push({ code: "custom", input: value, path: [name], message });
    const { id, type, role, content } = value;
    if (id != null && (typeof id !== "string" || id.length > MAX_ID))
      refuse("id", `expected up to ${MAX_ID} characters`);
    if (type != null && (typeof type !== "string" || type.length > MAX_ID))
      return refuse("type", "expected a type of item");
    if (type === "item_reference") return refuse("type", "expected an item, not a reference to one");
    if (type != null && type !== "message") return;
    if (typeof role !== "string" || !ROLES.includes(role)) refuse("role", `expected one of ${ROLES.join(", ")}`);
    else if (typeof content !== "string" && !Array.isArray(content))
      refuse("content", "expected a text or a list of parts");
  })
  .describe("An item of the Responses API; `{role, content}` alone is a message.");

export const item = z.looseObject({ id: z.string(), type: z.string() });
export const itemList = listOf(item);

const MAX_ITEMS = 100;
const DEFAULT_ITEMS = 20;

export const itemListQuery = z.object({
  ...listQuery({ most: MAX_ITEMS, usual: DEFAULT_ITEMS }),
  order: z.enum(["asc", "desc"]).default("desc").describe("Order of addition."),
});

/** The query of GET /v1/responses/{id}. */
export const responseQuery = z.object({
  stream: flag
    .optional()
    .describe("`true` is refused: only responses that ran in the background can be streamed again."),
});

export const responseDeleted = z.object({ id: z.string(), object: z.literal("response"), deleted: z.literal(true) });
