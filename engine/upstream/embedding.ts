import type { ApiError } from "../../openapi/api-error.ts";
import type { EmbeddingListener, EmbeddingSubmission } from "../engine.ts";
import type { EmbeddingInput } from "../protocol/embedding.ts";
import { CHARS_PER_TOKEN } from "../protocol/prompt.ts";
import type { Tier } from "../protocol/request.ts";
import { isBelievable, numberOf } from "./answer/answer-count.ts";
import { AttemptFailure } from "./attempt.ts";
import type { Visit } from "./replica/replica.ts";
import type { UpstreamAccess } from "./upstream-access.ts";
import type { UpstreamWork, WorkRequest } from "./upstream-work.ts";

/** One request for vectors, or for scores, at an upstream. No part of its answer is passed on before the whole. */
export class Embedding implements WorkRequest {
  readonly tier: Tier;
  readonly promptTokens: number;
  readonly answerTokens = 0;
  readonly sequences: number;
  readonly blocks = [];
  readonly echo = null;
  readonly hedge = null;
  readonly begun = false;
  readonly #access: Pick<UpstreamAccess, "estimated">;
  readonly #model: string;
  readonly #inputs: readonly EmbeddingInput[];
  readonly #listener: EmbeddingListener;

  /** @param model its id at the upstream */
  constructor(
    access: Pick<UpstreamAccess, "estimated">,
    model: string,
    { inputs, tier }: EmbeddingSubmission,
    listener: EmbeddingListener,
  ) {
    this.#access = access;
    this.tier = tier;
    this.promptTokens = Math.ceil(inputs.reduce((sum, input) => sum + sizeOf(input), 0));
    this.sequences = inputs.length;
    this.#model = model;
    this.#inputs = inputs;
    this.#listener = listener;
  }

  async attempt(work: UpstreamWork, visit: Visit): Promise<number> {
    const { path, body } = embeddingRequest(this.#model, this.#inputs);
    let answer: unknown = null;
    for await (const list of work.events(visit, path, body)) {
      for (const event of list) if (!event.done) answer = event.data;
    }
    const vectors = vectorsOf(answer, this.#inputs.length);
    if (vectors === null) throw new AttemptFailure({ kind: "broken" });
    const counted = promptTokensOf(answer, this.promptTokens);
    const tokens = counted ?? this.promptTokens;
    visit.claim();
    if (work.over) return tokens;
    if (counted === null) this.#access.estimated();
    else this.#listener.accepted(counted, null);
    this.#listener.started();
    for (const [index, vector] of vectors.entries()) this.#listener.vector(index, vector);
    if (!work.over) work.end();
    return tokens;
  }

  mayPreempt(): boolean {
    return true;
  }

  attemptFailed(): void {
    // A failure tells nothing that other requests could use.
  }

  named(error: ApiError): ApiError {
    return error;
  }
}

function sizeOf(input: EmbeddingInput): number {
  switch (input.kind) {
    case "tokens":
      return input.tokens.length;
    case "text":
      return input.text.length / CHARS_PER_TOKEN;
    case "pair":
      return (input.query.length + input.document.length) / CHARS_PER_TOKEN;
  }
}

/** Pairs have one query in common: that of the request for ranks. */
function embeddingRequest(model: string, inputs: readonly EmbeddingInput[]) {
  const [first] = inputs;
  if (first?.kind === "pair") {
    const documents = inputs.map((input) => (input.kind === "pair" ? input.document : ""));
    return { path: "/rerank", body: { model, query: first.query, documents } };
  }
  const input = inputs.map((one) => (one.kind === "tokens" ? one.tokens : one.kind === "text" ? one.text : ""));
  return { path: "/embeddings", body: { model, input, encoding_format: "float" } };
}

/** The vectors by their inputs; null unless there is one for each. */
function vectorsOf(answer: unknown, inputs: number): Float32Array[] | null {
  const { data, results }: Record<string, unknown> = Object(answer);
  // SGLang writes ranks as a bare list.
  const entries = Array.isArray(answer) ? answer : (data ?? results);
  if (!Array.isArray(entries) || entries.length !== inputs) return null;
  const vectors = new Array<Float32Array>(inputs);
  for (const entry of entries) {
    const { index, embedding, relevance_score, score }: Record<string, unknown> = Object(entry);
    const numbers = Array.isArray(embedding) ? embedding : [relevance_score ?? score];
    if (typeof index !== "number" || !Number.isInteger(index) || index < 0 || index >= inputs) return null;
    if (!numbers.every((value) => typeof value === "number")) return null;
    vectors[index] = Float32Array.from(numbers);
  }
  return Object.keys(vectors).length === inputs ? vectors : null;
}

/** Null where the upstream gives no count that can be right. */
function promptTokensOf(answer: unknown, estimate: number): number | null {
  const { prompt_tokens: prompt, total_tokens: total }: Record<string, unknown> = Object(Object(answer).usage);
  const count = numberOf(prompt ?? total);
  return count !== null && count > 0 && isBelievable(count, estimate) ? count : null;
}
