import { markOf } from "../../../openapi/generation/answer-mark.ts";
import { validate } from "../../../openapi/generation/validate.ts";
import { ignoredNames } from "../../../openapi/ignored-fields.ts";
import type { CompactedResponse } from "../../../openapi/responses/compact.ts";
import { compactRequest } from "../../../openapi/responses/compact.ts";
import type { Item } from "../../../openapi/responses/item.ts";
import type { Dialect } from "../../generation/generation-endpoint.ts";
import { leavesTier } from "../../generation/generation-settings.ts";
import type { GenerationRequest } from "../../generation/request.ts";
import { keptMessages } from "./compaction.ts";
import { givenItems, NOTHING_STORED, type StoredItems, withIds } from "./given-items.ts";
import { compactionItem, summaryText } from "./output/output-items.ts";
import { responseUsage } from "./output/response-object.ts";
import type { ResponseState } from "./response-state.ts";
import type { ResponsesParts } from "./responses.ts";
import { skippedNames } from "./skipped-names.ts";
import { storedItems } from "./stored-items.ts";
import { summaryRequest } from "./summary-request.ts";

/** POST /v1/responses/compact. Nothing is stored. */
export function compactDialect({ limits, seal, state }: ResponsesParts & { state: ResponseState }): Dialect {
  const schema = compactRequest(limits);
  const read = (json: unknown, owner: string, { before, referenced }: StoredItems): GenerationRequest => {
    const body = validate(schema, json);
    const given = givenItems(body.input, { referenced });
    const items = [...before, ...given];
    const context = { items, open: (sealed: string) => seal.open(sealed, owner) };
    return {
      model: body.model,
      ...summaryRequest(body, context),
      openTier: leavesTier(body.service_tier),
      stream: false,
      dryRun: false,
      ignored: [...ignoredNames(Object(json), schema), ...skippedNames(body)],
      chunks: () => {
        throw new Error("a compaction is not streamed");
      },
      whole: ({ id, created, upstream }, [choice], { usage }): CompactedResponse => {
        const kept: Item[] = withIds(keptMessages(items), id);
        const item = compactionItem(id, kept.length, seal.seal(summaryText(choice!), owner));
        const output = [...kept, item] as CompactedResponse["output"];
        const object = "response.compaction";
        return { id, object, created_at: created, output, usage: responseUsage(usage), ...markOf(upstream) };
      },
    };
  };
  return {
    endpoint: "/v1/responses",
    idPrefix: "resp_",
    messagesField: "input",
    deferrable: false,
    read: (json, owner) => read(json, owner, NOTHING_STORED),
    load: async (json, owner) => {
      const stored = await storedItems(json, owner, state, { limits });
      return (body) => read(body, owner, stored ?? NOTHING_STORED);
    },
  };
}
