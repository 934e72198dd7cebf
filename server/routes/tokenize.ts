import type { RequestHandler } from "express";
import type { TokenAnswer, TokenQuestion } from "../../engine/protocol/tokens.ts";
import { type Caller, mayUseModel } from "../../ledger/key.ts";
import { invalidRequest } from "../../openapi/api-error.ts";
import type { RequestLimits } from "../../openapi/request-limits.ts";
import {
  type DetokenizeResponse,
  detokenizeRequest,
  type TokenizeRequest,
  type TokenizeResponse,
  tokenizeRequest,
} from "../../openapi/tokenize.ts";
import { validate } from "../../openapi/validate.ts";
import { checkVocabulary } from "../../openapi/vocabulary.ts";
import type { Admission, Place } from "../admission.ts";
import type { AppOptions } from "../app-options.ts";
import { ClientGone, readJson } from "../json-body.ts";
import { callerOf } from "../middleware/authentication.ts";
import type { ModelSet } from "../model-set.ts";
import { sendJson } from "../respond.ts";
import { chatReader } from "./chat.ts";

interface TokenizeDeps {
  models: ModelSet;
  admission: Admission;
  options: Pick<AppOptions, "limits" | "bodyLimit">;
}

export function tokenize(deps: TokenizeDeps): RequestHandler {
  const { limits } = deps.options;
  const schema = tokenizeRequest(limits);
  return answering(deps, async (json, caller) => {
    const body = validate(schema, json);
    const place = await placeOf(deps, body.model, caller);
    const answer = await place.model.engine.tokenize(question(body, json, place, limits));
    return tokenized(body, answer, place.facts.context);
  });
}

export function detokenize(deps: TokenizeDeps): RequestHandler {
  const schema = detokenizeRequest(deps.options.limits);
  return answering(deps, async (json, caller): Promise<DetokenizeResponse> => {
    const { model, tokens } = validate(schema, json);
    const place = await placeOf(deps, model, caller);
    checkVocabulary(tokens, "tokens", place.facts.vocabulary);
    const { text } = await place.model.engine.tokenize({ kind: "tokens", tokens });
    return { prompt: text, content: text };
  });
}

function answering(
  { options }: TokenizeDeps,
  answer: (json: unknown, caller: Caller) => Promise<object>,
): RequestHandler {
  return async (req, res) => {
    try {
      const json = await readJson(req, res, options.bodyLimit);
      sendJson(req, res, 200, JSON.stringify(await answer(json, callerOf(req))));
    } catch (error) {
      if (!(error instanceof ClientGone)) throw error;
    }
  };
}

async function placeOf(
  { models, admission }: TokenizeDeps,
  name: string | null | undefined,
  caller: Caller,
): Promise<Place> {
  const [first, ...others] = models.list().filter(({ id }) => mayUseModel(caller, id));
  if (name == null && (first === undefined || others.length > 0)) {
    throw invalidRequest("missing_required_parameter", "model", "Missing required parameter: 'model'.");
  }
  const found = admission.find(name ?? first!.id, caller);
  await admission.awake(found, { tier: "default", owner: caller.owner }, new AbortController().signal);
  return admission.place(found);
}

function question(body: TokenizeRequest, json: unknown, place: Place, limits: RequestLimits): TokenQuestion {
  if (body.messages != null) {
    const [submission] = chatReader(limits)({ ...Object(json), model: place.model.id }).submissions;
    return { kind: "prompt", prompt: submission!.prompt };
  }
  const bare = body.content != null;
  return {
    kind: "text",
    text: body.content ?? body.prompt ?? "",
    opening: body.add_special_tokens ?? body.add_special ?? !bare,
    special: body.parse_special ?? bare,
  };
}

function tokenized(body: TokenizeRequest, { tokens, pieces }: TokenAnswer, context: number): TokenizeResponse {
  return {
    tokens: body.with_pieces ? tokens.map((id, i) => ({ id, piece: pieceOf(pieces[i]!) })) : tokens,
    count: tokens.length,
    max_model_len: context,
    ...(body.return_token_strs && { token_strs: pieces.map((piece) => Buffer.from(piece).toString()) }),
  };
}

/** Its text, or the bytes of a piece that is not UTF-8 by itself. */
function pieceOf(bytes: Uint8Array): string | number[] {
  const text = Buffer.from(bytes).toString();
  return text.includes("\uFFFD") ? [...bytes] : text;
}
