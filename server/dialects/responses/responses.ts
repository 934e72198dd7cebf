import { validate } from "../../../openapi/generation/validate.ts";
import { ignoredNames } from "../../../openapi/ignored-fields.ts";
import type { RequestLimits } from "../../../openapi/request-limits.ts";
import type { GivenItem } from "../../../openapi/responses/item.ts";
import { type ResponsesRequest, responsesRequest } from "../../../openapi/responses/request.ts";
import { checkStateless } from "../../../openapi/responses/stateless.ts";
import type { Dialect } from "../../generation/generation-endpoint.ts";
import { leavesTier } from "../../generation/generation-settings.ts";
import type { GenerationRequest } from "../../generation/request.ts";
import { turnRequest } from "../../generation/turn-request.ts";
import { unusedSamplerFields } from "../../generation/unused-samplers.ts";
import { asksCompaction, isCompactable } from "./compaction.ts";
import { givenItems, NOTHING_STORED, type StoredItems, withIds } from "./given-items.ts";
import { type OutputForm, summaryText } from "./output/output-items.ts";
import { summaryOf } from "./output/response-object.ts";
import { ResponseAnswer } from "./response-answer.ts";
import type { ResponseState } from "./response-state.ts";
import { responseTurn, samplingBody, wantsSealed } from "./response-turn.ts";
import type { Seal } from "./sealed-text.ts";
import { skippedNames } from "./skipped-names.ts";
import { storedItems } from "./stored-items.ts";
import { summaryRequest } from "./summary-request.ts";
import { toolSet } from "./tool-set.ts";

export interface ResponsesParts {
  limits: RequestLimits;
  seal: Seal;
  /** Null where nothing is stored, as in batches. */
  state: ResponseState | null;
}

/** POST /v1/responses. */
export function responsesDialect({ limits, seal, state }: ResponsesParts): Dialect {
  const schema = responsesRequest(limits);
  const read = (json: unknown, owner: string, stored: StoredItems | null): GenerationRequest => {
    const body = validate(schema, json);
    if (stored === null) checkStateless(body);
    const ignored = [
      ...ignoredNames(Object(json), schema),
      ...skippedNames(body),
      ...unusedSamplerFields(samplingBody(body)),
    ];
    const parts = { body, owner, stored: stored ?? NOTHING_STORED, ignored, seal, state };
    return responseRequest(parts, null);
  };
  return {
    endpoint: "/v1/responses",
    idPrefix: "resp_",
    messagesField: "input",
    deferrable: false,
    read: (json, owner) => read(json, owner, null),
    ...(state !== null && {
      load: async (json, owner, whenOver) => {
        const stored = await storedItems(json, owner, state, { limits, whenOver });
        return (body) => read(body, owner, stored);
      },
    }),
  };
}

interface RequestParts extends Pick<ResponsesParts, "seal" | "state"> {
  body: ResponsesRequest;
  owner: string;
  stored: StoredItems;
  ignored: readonly string[];
}

/** The request of a valid body; `compaction` is the sealed summary that its prompt was compacted by. */
function responseRequest(parts: RequestParts, compaction: string | null): GenerationRequest {
  const { body, owner, seal, state, ignored } = parts;
  const { before, referenced } = parts.stored;
  const tools = toolSet(body);
  const input = givenItems(body.input, { referenced });
  const made: GivenItem[] = compaction === null ? [] : [{ type: "compaction", encrypted_content: compaction }];
  const context = { items: [...before, ...input, ...made], open: (sealed: string) => seal.open(sealed, owner) };
  const compacts = asksCompaction(body.input);
  const mayCompact = !compacts && compaction === null && isCompactable(context.items);
  const managed = mayCompact ? body.context_management?.[0] : undefined;
  const form: OutputForm = {
    custom: tools.custom,
    summary: summaryOf(body) !== null,
    compaction,
    seal: wantsSealed(body) ? (text) => seal.seal(text, owner) : null,
  };
  const stored = state !== null && (body.store ?? true);
  const kept = state !== null && (stored || body.conversation != null);
  const compact = compacts ? (text: string) => seal.seal(text, owner) : null;
  const answer = new ResponseAnswer({ body, tools, form, stored, compact });
  return {
    model: body.model,
    ...(compacts
      ? summaryRequest(body, context)
      : { ...turnRequest(responseTurn(body, context, tools)), truncate: body.truncation === "auto" }),
    ...(managed !== undefined && {
      compaction: {
        bound: managed.compact_threshold ?? null,
        summary: summaryRequest(body, context),
        continued: (summary) => responseRequest(parts, seal.seal(summaryText(summary), owner)),
      },
    }),
    openTier: leavesTier(body.service_tier),
    ignored,
    stream: body.stream ?? false,
    dryRun: body.nightshift?.dry_run ?? false,
    chunks: (identity) => answer.events(identity),
    whole: (identity, [choice], end) => answer.whole(identity, choice!, end),
    ...(stored && { reserve: (caller) => state.reserve(caller) }),
    ...(kept && {
      keep: async ({ identity, choices: [choice], end, caller }) =>
        state.keep(caller, answer.whole(identity, choice!, end), withIds(input, identity.id)),
    }),
  };
}
