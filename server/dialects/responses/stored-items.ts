import { z } from "zod";
import { invalidRequest } from "../../../openapi/api-error.ts";
import type { RequestLimits } from "../../../openapi/request-limits.ts";
import { referencedIds } from "../../../openapi/responses/input-item.ts";
import type { WhenOver } from "../../generation/generation-endpoint.ts";
import { fromStore } from "../../http/store-error-response.ts";
import type { StoredItems } from "./given-items.ts";
import type { ContextSource, ResponseState } from "./response-state.ts";

const reference = z.object({
  previous_response_id: z.string().nullish().catch(null),
  conversation: z
    .union([z.string(), z.object({ id: z.string() })])
    .nullish()
    .catch(null),
  input: z.unknown().optional(),
});

/**
 * The stored items to which a body refers; null where it refers to none. The body may be invalid still: its schema reports
 * that afterwards. A conversation is locked until the request is over, unless `whenOver` is absent. Throws the ApiError of an
 * unknown item, of a locked conversation, and of a failing store.
 */
export async function storedItems(
  json: unknown,
  owner: string,
  state: ResponseState,
  { limits, whenOver }: { limits: RequestLimits; whenOver?: WhenOver },
): Promise<StoredItems | null> {
  const body = reference.safeParse(json).data;
  if (body === undefined) return null;
  const from = contextSource(body);
  const ids = [...new Set(referencedIds(body.input, limits.messages))];
  if (from === null && ids.length === 0) return null;
  if (whenOver !== undefined && from !== null && "conversationId" in from) {
    whenOver(await fromStore(state.lockConversation(owner, from.conversationId)));
  }
  const [before, referenced] = await fromStore(
    Promise.all([
      from === null ? [] : state.context(owner, from),
      ids.length === 0 ? new Map<string, never>() : state.items(owner, ids),
    ]),
  );
  if (before.length > limits.messages) {
    const param = body.previous_response_id == null ? "conversation" : "previous_response_id";
    const message = `Invalid '${param}': it has more than ${limits.messages} items, which is the most.`;
    throw invalidRequest("invalid_value", param, message);
  }
  return { before, referenced };
}

function contextSource({ previous_response_id, conversation }: z.infer<typeof reference>): ContextSource | null {
  // Both together are refused by the schema.
  if (previous_response_id != null) return conversation == null ? { previousResponseId: previous_response_id } : null;
  if (conversation == null) return null;
  return { conversationId: typeof conversation === "string" ? conversation : conversation.id };
}
