import type { RequestHandler } from "express";
import type { TokenAnswer, TokenQuestion } from "../../engine/protocol/tokenize.ts";
import { type Caller, mayUseModel } from "../../ledger/key.ts";
import { invalidRequest } from "../../openapi/api-error.ts";
import { validate } from "../../openapi/generation/validate.ts";
import { checkVocabulary } from "../../openapi/generation/vocabulary.ts";
import type { RequestLimits } from "../../openapi/request-limits.ts";
import {
  type DetokenizeResponse,
  detokenizeRequest,
  type TokenizeRequest,
  tokenizeRequest,
} from "../../openapi/resources/tokenize.ts";
import type { Admission, Place } from "../admission/admission.ts";
import type { Allowances } from "../admission/allowance.ts";
import type { Grammars } from "../grammar/grammar-compiler.ts";
import { readJson } from "../http/body/json-body.ts";
import { departure } from "../http/connection/client-disconnect.ts";
import { ClientGone } from "../http/connection/client-gone.ts";
import { callerOf } from "../http/context/caller.ts";
import { sendJson } from "../http/respond.ts";
import type { ModelSet } from "../models/model-set.ts";
import type { AppOptions } from "../options/app-options.ts";
import { tokenCall } from "../tokenize/token-call.ts";
import { listText, pieceAt, wholeText } from "../tokenize/token-list.ts";
import { chatReader } from "./chat.ts";

/** The longest text in bytes: so many for each token of the context, and so many whatever the context is. */
const BYTES_PER_TOKEN = 16;
const LEAST_BOUND = 1024 * 1024;

interface TokenizeDeps {
  models: Pick<ModelSet, "list">;
  admission: Pick<Admission, "find" | "awake" | "place" | "admit">;
  allowances: Pick<Allowances, "during">;
  options: Pick<AppOptions, "limits" | "bodyLimit">;
  grammars: Grammars;
}

/** What is asked of a body, and its answer as JSON. */
interface TokenRequest {
  model: string | null | undefined;
  /** Throws an ApiError for what the model can't be asked. */
  question(place: Place): TokenQuestion;
  write(answer: TokenAnswer, place: Place): Promise<string>;
}

export function tokenize(deps: TokenizeDeps): RequestHandler {
  const { limits } = deps.options;
  const schema = tokenizeRequest(limits);
  return answering(deps, (json) => {
    const body = validate(schema, json);
    return {
      model: body.model,
      question: (place) => question(body, json, place, limits),
      write: (answer, place) => tokenized(body, answer, place.facts.context),
    };
  });
}

export function detokenize(deps: TokenizeDeps): RequestHandler {
  const schema = detokenizeRequest(deps.options.limits);
  return answering(deps, (json) => {
    const { model, tokens } = validate(schema, json);
    return {
      model,
      question({ facts }) {
        checkVocabulary(tokens, "tokens", facts.vocabulary);
        return { kind: "tokens", tokens, pieces: true };
      },
      async write({ pieces }) {
        const text = pieces === null ? "" : wholeText(pieces);
        return JSON.stringify({ prompt: text, content: text } satisfies DetokenizeResponse);
      },
    };
  });
}

function answering(deps: TokenizeDeps, read: (json: unknown) => TokenRequest): RequestHandler {
  return async (req, res) => {
    try {
      const caller = callerOf(req);
      const request = read(await readJson(req, res, deps.options.bodyLimit));
      const signal = departure(res);
      const place = await placeOf(deps, request.model, caller, signal);
      const asked = await deps.grammars.run(() => request.question(place), caller.owner, signal);
      await tokenCall({ ...deps, caller, res, place, signal }, async (ask) => {
        sendJson(req, res, 200, await request.write(await ask(asked), place));
      });
    } catch (error) {
      if (!(error instanceof ClientGone)) throw error;
    }
  };
}

async function placeOf(
  { models, admission }: TokenizeDeps,
  name: string | null | undefined,
  caller: Caller,
  signal: AbortSignal,
): Promise<Place> {
  const [first, ...others] = models.list().filter(({ id }) => mayUseModel(caller, id));
  if (name == null && (first === undefined || others.length > 0)) {
    throw invalidRequest("missing_required_parameter", "model", "Missing required parameter: 'model'.");
  }
  const found = admission.find(name ?? first!.id, caller);
  await admission.awake(found, { tier: "default", owner: caller.owner }, caller, signal);
  signal.throwIfAborted();
  return admission.place(found);
}

function question(body: TokenizeRequest, json: unknown, place: Place, limits: RequestLimits): TokenQuestion {
  const pieces = body.with_pieces === true || body.return_token_strs === true;
  if (body.messages != null) {
    const [submission] = chatReader(limits)({ ...Object(json), model: place.model.id }).submissions;
    return { kind: "prompt", prompt: submission!.prompt, pieces };
  }
  const bare = body.content != null;
  const text = body.content ?? body.prompt ?? "";
  checkLength(text, bare ? "content" : "prompt", place.facts.context);
  return {
    kind: "text",
    text,
    opening: body.add_special_tokens ?? body.add_special ?? !bare,
    special: body.parse_special ?? bare,
    pieces,
  };
}

function checkLength(text: string, param: string, context: number): void {
  const most = Math.max(LEAST_BOUND, BYTES_PER_TOKEN * context);
  const bytes = Buffer.byteLength(text);
  if (bytes <= most) return;
  const message = `Invalid '${param}': it has ${bytes} bytes, and for this model at most ${most} are tokenized at once. Send it in parts.`;
  throw invalidRequest("invalid_value", param, message);
}

async function tokenized(body: TokenizeRequest, { tokens, pieces }: TokenAnswer, context: number): Promise<string> {
  const item =
    body.with_pieces && pieces !== null
      ? (i: number) => JSON.stringify({ id: tokens[i], piece: pieceOf(pieceAt(pieces, i)) })
      : (i: number) => String(tokens[i]);
  const text = (i: number) => (pieces === null ? "" : JSON.stringify(pieceAt(pieces, i).toString()));
  const strings = body.return_token_strs ? `,"token_strs":[${await listText(tokens.length, text)}]` : "";
  const list = await listText(tokens.length, item);
  return `{"tokens":[${list}],"count":${tokens.length},"max_model_len":${context}${strings}}`;
}

/** Its text, or the bytes of a piece that is not UTF-8 by itself. */
function pieceOf(bytes: Buffer): string | number[] {
  const text = bytes.toString();
  return text.includes("\uFFFD") ? [...bytes] : text;
}
