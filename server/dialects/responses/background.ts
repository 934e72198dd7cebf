import type { Caller } from "../../../ledger/key.ts";
import { invalidRequest } from "../../../openapi/api-error.ts";
import { validate } from "../../../openapi/generation/validate.ts";
import { ignoredNames, reportedNames } from "../../../openapi/ignored-fields.ts";
import type { RequestLimits } from "../../../openapi/request-limits.ts";
import type { Item } from "../../../openapi/responses/item.ts";
import { type ResponsesRequest, responsesRequest } from "../../../openapi/responses/request.ts";
import type { ResponseObject } from "../../../openapi/responses/response.ts";
import type { WhenOver } from "../../generation/generation-endpoint.ts";
import { turnRequest } from "../../generation/turn-request.ts";
import { unusedSamplerFields } from "../../generation/unused-samplers.ts";
import { givenItems, NOTHING_STORED, withIds } from "./given-items.ts";
import { begunResponse } from "./output/response-object.ts";
import type { ResponseState } from "./response-state.ts";
import { responseTurn, samplingBody, wantsSealed } from "./response-turn.ts";
import type { Seal } from "./sealed-text.ts";
import { skippedNames } from "./skipped-names.ts";
import { storedItems } from "./stored-items.ts";
import { toolSet } from "./tool-set.ts";

/** A background response that is to be stored, with the batch line that runs it. */
export interface QueuedResponse {
  response: ResponseObject;
  /** The items of its own input. */
  input: readonly Item[];
  /** Null where its events are not kept; `sealed` is true where its reasoning is sealed. */
  stream: { sealed: boolean } | null;
  /** Fields of the request that were accepted and are not used. */
  ignored: readonly string[];
  /** The body of the line: the request with all items of its context, so that the line needs no stored ones. */
  body: object;
}

/** Where background responses are created. */
export interface BackgroundQueue {
  /** A new id of a response, and the present time in Unix seconds. */
  identity(): { id: string; created: number };
  /** Durable when it resolves: the response and the batch of one line that runs it. Throws the ApiError of a refused one. */
  add(caller: Caller, queued: QueuedResponse): Promise<void>;
  /** The events of a response that was queued as a stream, in texts of whole ones, until it ends or the signal aborts. */
  events(owner: string, id: string, signal: AbortSignal): AsyncIterable<string>;
}

export interface BackgroundReaderParts {
  limits: RequestLimits;
  seal: Seal;
  state: ResponseState;
}

/** The response to a valid body with `background: true`. */
export type QueuedFor = (identity: { id: string; created: number; model: string }) => QueuedResponse;

/**
 * Reads the stored items to which a body refers, and returns the parser of that body, which needs grammars. A conversation is
 * locked until the functions that `whenAdded` gets are called.
 */
export function backgroundReader({ limits, seal, state }: BackgroundReaderParts) {
  const schema = responsesRequest(limits);
  return async (json: unknown, owner: string, whenAdded: WhenOver): Promise<() => QueuedFor> => {
    const stored = await storedItems(json, owner, state, { limits, whenOver: whenAdded });
    return () => {
      const body = validate(schema, json);
      const { before } = stored ?? NOTHING_STORED;
      const given = givenItems(body.input, stored ?? NOTHING_STORED);
      const items = [...before, ...given];
      if (items.length > limits.messages) {
        const message = `Invalid 'input': with the items before it, it has more than ${limits.messages} items, which is the most.`;
        throw invalidRequest("invalid_value", "input", message);
      }
      // Faults that the line would have are errors of the request.
      turnRequest(responseTurn(body, { items, open: (sealed) => seal.open(sealed, owner) }, toolSet(body)));
      const ignored = [
        ...ignoredNames(Object(json), schema),
        ...skippedNames(body),
        ...unusedSamplerFields(samplingBody(body)),
      ];
      return (identity) => ({
        response: queuedResponse(body, identity, ignored),
        input: withIds(given, identity.id),
        stream: body.stream ? { sealed: wantsSealed(body) } : null,
        ignored,
        body: lineBody(Object(json), items, identity.model),
      });
    };
  };
}

function queuedResponse(
  body: ResponsesRequest,
  identity: { id: string; created: number; model: string },
  ignored: readonly string[],
): ResponseObject {
  const begun = begunResponse(body, toolSet(body), true, { ...identity, tier: "default", fingerprint: "" });
  const nightshift = { tier: "batch" as const, ...(ignored.length > 0 && { ignored: reportedNames(ignored) }) };
  return { ...begun, status: "queued", background: true, nightshift };
}

/** Fields that a line has no use for: it is not answered to a client, and has the items of its context. */
const UNUSED = ["background", "store", "stream", "stream_options", "previous_response_id", "conversation"];

function lineBody(json: Record<string, unknown>, items: readonly object[], model: string): object {
  const { input, ...settings } = json;
  for (const field of UNUSED) delete settings[field];
  // Items that add tools are no part of the conversation, and the line needs them.
  const tools = Array.isArray(input) ? input.filter((item) => Object(item).type === "additional_tools") : [];
  return { ...settings, model, input: [...tools, ...items] };
}
