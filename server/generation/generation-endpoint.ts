import type { Prices } from "../../ledger/prices.ts";
import type { GenerationPath } from "../../openapi/inference-path.ts";
import { BATCH_ENDPOINTS, type BatchEndpoint } from "../../openapi/resources/batches.ts";
import type { ReadyModel } from "../admission/ready-model.ts";
import { requireTask } from "../admission/task-check.ts";
import type { Grammars } from "../grammar/grammar-compiler.ts";
import type { InferenceEndpoint, InferenceRequest } from "../inference/endpoint.ts";
import type { Exchange } from "../inference/exchange.ts";
import { TokenRun } from "../tokenize/token-run.ts";
import { neededCompaction } from "./compaction.ts";
import { dryRun } from "./dry-run.ts";
import { GenerationRun, type GenerationRunDeps } from "./generation-run.ts";
import { generationTraits } from "./generation-traits.ts";
import { checkInfill } from "./infill-prompt.ts";
import type { GenerationRequest } from "./request.ts";
import { checkTokens } from "./token-id-check.ts";
import { withinContext } from "./truncation.ts";

/** Registers what is released when the request is over, however it ends. */
export type WhenOver = (release: () => void) => void;

/** The parser of one API. It returns the writers of the answer along with the request. */
export interface Dialect {
  readonly endpoint: GenerationPath;
  /** The prefix of the ids of answers, with its divider. */
  readonly idPrefix: string;
  /** The field of a body that holds its messages, for errors. Default: `messages`. */
  readonly messagesField?: string;
  /** False where no request becomes a job: a batch line has no stored items. Default: true. */
  readonly deferrable?: boolean;
  /** Throws the ApiError of an invalid body. It needs grammars, and may run more than once. */
  read(body: unknown, owner: string): GenerationRequest;
  /**
   * Reads the stored items to which a body refers, and returns the parser of that body. Throws the ApiError of an unknown
   * one. Absent where no body refers to any.
   */
  load?(body: unknown, owner: string, whenOver: WhenOver): Promise<(body: unknown) => GenerationRequest>;
}

export interface GenerationEndpointDeps extends GenerationRunDeps {
  grammars: Grammars;
  /** For estimates of dry runs; the ledger prices by itself. */
  prices: Pick<Prices, "costNano">;
}

/** An endpoint that generates. */
export class GenerationEndpoint implements InferenceEndpoint {
  readonly label: GenerationPath;
  readonly refusesUnread = true;
  readonly messagesField: string | undefined;
  readonly #dialect: Dialect;
  readonly #deps: GenerationEndpointDeps;

  constructor(dialect: Dialect, deps: GenerationEndpointDeps) {
    this.label = dialect.endpoint;
    this.messagesField = dialect.messagesField;
    this.#dialect = dialect;
    this.#deps = deps;
  }

  async parse(body: unknown, exchange: Exchange): Promise<InferenceRequest> {
    const { caller, disconnected } = exchange;
    const { owner } = caller;
    const dialect = this.#dialect;
    const read =
      (await dialect.load?.(body, owner, (release) => exchange.whenOver(release))) ??
      ((json: unknown) => dialect.read(json, owner));
    const readOf = (json: unknown) => this.#deps.grammars.run(() => read(json), owner, disconnected);
    const request = await readOf(body);
    // It is read again, since the writers of the answer may have read the tier too.
    const asFlex = async () =>
      this.#inferenceRequest(await readOf({ ...Object(body), service_tier: "flex" }), disconnected);
    return { ...this.#inferenceRequest(request, disconnected), ...(request.openTier === true && { asFlex }) };
  }

  #inferenceRequest(request: GenerationRequest, disconnected: AbortSignal): InferenceRequest {
    const { model, tier, stream, dryRun } = request;
    const deferrable = !stream && !dryRun && this.#dialect.deferrable !== false;
    return {
      model,
      tier,
      jobEndpoint: deferrable ? jobEndpoint(this.label) : null,
      metered: !dryRun,
      traits: () => generationTraits(request),
      ignored: request.ignored,
      prepare: (ready) => this.#prepare(request, ready, disconnected),
    };
  }

  async #prepare(asked: GenerationRequest, ready: ReadyModel, signal: AbortSignal): Promise<TokenRun | GenerationRun> {
    asked.checkModel?.(ready.facts);
    requireTask(ready.facts, "generate");
    checkInfill(asked.submissions, ready.facts);
    checkTokens(asked.submissions, ready.facts);
    const compaction = asked.dryRun ? null : await neededCompaction(asked, ready, signal);
    const request = asked.truncate && compaction === null ? await withinContext(asked, ready, signal) : asked;
    if (!request.dryRun) return new GenerationRun({ request, compaction, ready }, this.#dialect, this.#deps);
    return new TokenRun(ready, async (tokenize) =>
      JSON.stringify(await dryRun(request, ready, this.#deps.prices, tokenize)),
    );
  }
}

/** Jobs are batches: an endpoint that these lack is not deferred. */
function jobEndpoint(path: GenerationPath): BatchEndpoint | null {
  return BATCH_ENDPOINTS.find((endpoint) => endpoint === path) ?? null;
}
