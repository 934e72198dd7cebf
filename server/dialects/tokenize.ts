import type { TokenAnswer, TokenQuestion } from "../../engine/protocol/tokenize.ts";
import { invalidRequest } from "../../openapi/api-error.ts";
import { chatRequest } from "../../openapi/generation/chat.ts";
import { validate } from "../../openapi/generation/validate.ts";
import { checkVocabulary } from "../../openapi/generation/vocabulary.ts";
import { ignoredNames } from "../../openapi/ignored-fields.ts";
import type { RequestLimits } from "../../openapi/request-limits.ts";
import {
  type DetokenizeResponse,
  detokenizeRequest,
  type TokenizeRequest,
  tokenizeRequest,
} from "../../openapi/resources/tokenize.ts";
import type { ReadyModel } from "../admission/ready-model.ts";
import type { Grammars } from "../grammar/grammar-compiler.ts";
import type { InferenceEndpoint, InferenceRequest } from "../inference/endpoint.ts";
import type { Exchange } from "../inference/exchange.ts";
import { listText, pieceAt, wholeText } from "../tokenize/token-list.ts";
import { TokenRun } from "../tokenize/token-run.ts";
import { chatReader } from "./chat.ts";

/** Most bytes of a text: for each token of the context, and at least, however short the context is. */
const BYTES_PER_TOKEN = 16;
const LEAST_BOUND = 1024 * 1024;

/** A valid body: the question to the engine, and the writer of its answer as JSON. */
export interface TokenRequest {
  model: string | null;
  /** Its fields that were accepted and not used. */
  ignored: readonly string[];
  /** Throws the ApiError of a question that the model does not support. It needs grammars, and may run more than once. */
  question(ready: ReadyModel): TokenQuestion;
  write(answer: TokenAnswer, ready: ReadyModel): Promise<string>;
}

/** Throws the ApiError of an invalid body. */
export type TokenReader = (body: unknown, owner: string) => TokenRequest | Promise<TokenRequest>;

/** POST /tokenize and /detokenize. No metric counts them, and any body is read: it costs less than a step. */
export class TokenEndpoint implements InferenceEndpoint {
  readonly label = null;
  readonly refusesUnread = false;
  readonly messagesField: string | undefined;
  readonly #read: TokenReader;
  readonly #grammars: Grammars;

  constructor(read: TokenReader, grammars: Grammars, messagesField?: string) {
    this.messagesField = messagesField;
    this.#read = read;
    this.#grammars = grammars;
  }

  async parse(body: unknown, { caller }: Exchange): Promise<InferenceRequest> {
    const request = await this.#read(body, caller.owner);
    return {
      model: request.model,
      tier: null,
      jobEndpoint: null,
      metered: false,
      ignored: request.ignored,
      prepare: async (ready, exchange) => {
        exchange.throwIfGone();
        const { caller, disconnected } = exchange;
        const question = await this.#grammars.run(() => request.question(ready), caller.owner, disconnected);
        return new TokenRun(ready, async (tokenize) => request.write(await tokenize(question), ready));
      },
    };
  }
}

/** Reads bodies of POST /tokenize. */
export function tokenizeReader(limits: RequestLimits): (json: unknown) => TokenRequest {
  const schema = tokenizeRequest(limits);
  const chat = chatRequest(limits);
  return (json) => {
    const body = validate(schema, json);
    return {
      model: body.model ?? null,
      ignored: ignoredNames(Object(json), ...(body.messages == null ? [schema] : [schema, chat])),
      question: (ready) => question(body, json, ready, limits),
      write: (answer, { facts }) => tokenized(body, answer, facts.context),
    };
  };
}

/** Reads bodies of POST /detokenize. */
export function detokenizeReader(limits: RequestLimits): (json: unknown) => TokenRequest {
  const schema = detokenizeRequest(limits);
  return (json) => {
    const { model, tokens } = validate(schema, json);
    return {
      model: model ?? null,
      ignored: ignoredNames(Object(json), schema),
      question({ facts }) {
        checkVocabulary(tokens, "tokens", facts.vocabulary);
        return { kind: "tokens", tokens, pieces: true };
      },
      async write({ pieces }) {
        const text = pieces === null ? "" : wholeText(pieces);
        return JSON.stringify({ prompt: text, content: text } satisfies DetokenizeResponse);
      },
    };
  };
}

function question(
  body: TokenizeRequest,
  json: unknown,
  { model, facts }: ReadyModel,
  limits: RequestLimits,
): TokenQuestion {
  const pieces = body.with_pieces === true || body.return_token_strs === true;
  if (body.messages != null) {
    const [submission] = chatReader(limits)({ ...Object(json), model: model.id }).submissions;
    return { kind: "prompt", prompt: submission!.prompt, pieces };
  }
  const bare = body.content != null;
  const text = body.content ?? body.prompt ?? "";
  checkLength(text, bare ? "content" : "prompt", facts.context);
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

/** The text of a token, or its bytes where they are not UTF-8. */
function pieceOf(bytes: Buffer): string | number[] {
  const text = bytes.toString();
  return text.includes("\uFFFD") ? [...bytes] : text;
}
