import type { ApiError } from "../../openapi/api-error.ts";
import type { EmbeddingListener, EmbeddingSubmission, Ticket } from "../engine.ts";
import type { EmbeddingInput } from "../protocol/embedding.ts";
import { CHARS_PER_TOKEN } from "../protocol/prompt.ts";
import { AttemptFailure, attemptEvents } from "./attempt.ts";
import { attempts } from "./attempts.ts";
import type { WorkHome } from "./generation.ts";
import type { Visit } from "./replica/replica.ts";

/** One request for vectors, or for scores, at an upstream. */
export class Embedding implements Ticket {
  readonly #home: WorkHome;
  readonly #submission: EmbeddingSubmission;
  readonly #listener: EmbeddingListener;
  readonly #abort = new AbortController();
  #over = false;

  constructor(home: WorkHome, submission: EmbeddingSubmission, listener: EmbeddingListener) {
    this.#home = home;
    this.#submission = submission;
    this.#listener = listener;
  }

  /** Runs it to its end, which its listener gets. Never rejects. */
  async run(): Promise<void> {
    const { inputs, tier } = this.#submission;
    await Promise.resolve();
    if (this.#over) return;
    const tokens = Math.ceil(inputs.reduce((sum, input) => sum + sizeOf(input), 0));
    this.#listener.accepted(tokens, null);
    const error = await attempts({
      access: this.#home.access,
      tier,
      tokens,
      blocks: [],
      signal: this.#abort.signal,
      content: () => false,
      attempt: (visit) => this.#attempt(visit),
    });
    if (error === null || this.#over) return;
    this.#fail(error);
  }

  cancel(): void {
    if (this.#over) return;
    this.#end();
    this.#abort.abort();
  }

  async #attempt({ replica }: Visit): Promise<void> {
    const { access, upstreamModel } = this.#home;
    const { inputs, tier } = this.#submission;
    const { path, body } = embeddingRequest(upstreamModel, inputs);
    const marks = access.marks(tier);
    const { firstEvent, batchSilence } = access.config.timeouts;
    let answer: unknown = null;
    const events = attemptEvents({
      dispatcher: access.dispatcher,
      url: `${replica.url}${path}`,
      headers: { ...access.headers, ...marks.headers },
      body: JSON.stringify(body),
      signal: this.#abort.signal,
      timeouts: { firstEvent, silence: batchSilence },
    });
    for await (const list of events) for (const event of list) if (!event.done) answer = event.data;
    const vectors = vectorsOf(answer, inputs.length);
    if (vectors === null) throw new AttemptFailure({ kind: "broken" });
    if (this.#over) return;
    this.#end();
    const counted = promptTokensOf(answer);
    if (counted !== null) this.#listener.accepted(counted, null);
    this.#listener.started();
    for (const [index, vector] of vectors.entries()) this.#listener.vector(index, vector);
  }

  #fail(error: ApiError): void {
    this.#end();
    this.#listener.failed(error);
  }

  #end(): void {
    this.#over = true;
    this.#home.ended(this);
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

function promptTokensOf(answer: unknown): number | null {
  const { prompt_tokens: prompt, total_tokens: total }: Record<string, unknown> = Object(Object(answer).usage);
  const count = prompt ?? total;
  return typeof count === "number" && Number.isSafeInteger(count) && count > 0 ? count : null;
}
