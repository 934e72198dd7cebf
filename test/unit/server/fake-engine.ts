import { predictWaitMs } from "../../../engine/client/wait-estimate.ts";
import type {
  Demand,
  EmbeddingListener,
  EmbeddingSubmission,
  Engine,
  EngineState,
  RequestListener,
  Submission,
  Ticket,
} from "../../../engine/engine.ts";
import type { LoadedFacts, ModelFacts } from "../../../engine/protocol/config.ts";
import type { SequenceOutput } from "../../../engine/protocol/output.ts";
import type { OnlineTier } from "../../../engine/protocol/request.ts";
import type { EngineStatus } from "../../../engine/protocol/status.ts";
import type { Backlog, Objectives } from "../../../engine/protocol/step.ts";
import type { TokenAnswer } from "../../../engine/protocol/tokenize.ts";
import type { ApiError } from "../../../openapi/api-error.ts";

export const FACTS: LoadedFacts = {
  model: "demo",
  description: "fake",
  context: 2048,
  sequences: 32,
  vocabulary: 1000,
  objectives: { ttftMs: 500, itlMs: 120 },
  toolFormat: "hermes",
  takesTools: true,
  reasoningTags: null,
  generates: true,
  infill: false,
  embedding: { pooling: "mean", width: 4, context: 2048 },
  fingerprint: "fp_demo_b1",
  local: {
    path: "demo.gguf",
    adapters: [],
    architecture: "llama",
    parameters: 1,
    bytes: 1,
    trainedContext: 2048,
    kv: "split",
    cells: 2048,
    cacheBytes: 1,
    parkBytes: 0,
    backend: "cpu",
    devices: [],
    threads: 1,
    stepTokens: 512,
    flashAttention: "auto",
    calibration: { ms: 0, steps: 18, tileRows: 64 },
    memory: "full",
    chatTemplate: true,
    templateFile: null,
    build: "b1",
    libraryDir: "",
  },
  upstream: null,
};

/** An engine whose answers the test makes, or a script that runs for every request. */
export class FakeEngine implements Engine {
  readonly model: string;
  state: EngineState = { name: "ready" };
  facts: ModelFacts | null = FACTS;
  status: EngineStatus | null = null;
  /** Backlog of its scheduler. */
  backlog: Backlog | null = null;
  retryAfterSeconds = 1;
  /** Milliseconds that a cap of its upstream's rate would have a request wait. */
  rateMs = 0;
  readonly requests: FakeRequest[] = [];
  script: ((request: FakeRequest) => void) | null = null;
  readonly readings: FakeReading[] = [];
  embeds: ((reading: FakeReading) => void) | null = null;
  #waiting: ((request: FakeRequest) => void)[] = [];

  constructor(model = "demo") {
    this.model = model;
  }

  get pending(): number {
    return this.requests.filter((request) => !request.ended).length;
  }

  get objectives(): Objectives | null {
    return this.backlog?.objectives ?? this.facts?.objectives ?? null;
  }

  rateWaitMs(): number {
    return this.rateMs;
  }

  predictedWaitMs(tier: OnlineTier, demand: Demand): number {
    if (this.backlog === null) return 0;
    const { sequences, local } = FACTS;
    const { stepTokens } = local;
    return predictWaitMs(tier, demand, { backlog: this.backlog, sequences, stepTokens, batchTax: 0.1 });
  }

  submit(submission: Submission, listener: RequestListener): Ticket {
    const request = new FakeRequest(submission, listener);
    this.requests.push(request);
    setImmediate(() => {
      if (!request.cancelled) this.script?.(request);
      this.#waiting.shift()?.(request);
    });
    return { cancel: () => request.cancel() };
  }

  embed(submission: EmbeddingSubmission, listener: EmbeddingListener): Ticket {
    const reading = { submission, listener, cancelled: false };
    this.readings.push(reading);
    setImmediate(() => {
      if (!reading.cancelled) this.embeds?.(reading);
    });
    return {
      cancel: () => {
        reading.cancelled = true;
      },
    };
  }

  /** The next request that is submitted after this call. */
  next(): Promise<FakeRequest> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async ready(_?: AbortSignal): Promise<ModelFacts> {
    return FACTS;
  }

  async inspect(): Promise<EngineStatus | null> {
    return this.status;
  }

  load(): void {}

  async unload(): Promise<void> {}

  async tokenize(): Promise<TokenAnswer> {
    return { tokens: Int32Array.of(1, 2), pieces: { bytes: Buffer.from("hi"), ends: Uint32Array.of(1, 2) } };
  }

  async close(): Promise<void> {}
}

export interface FakeReading {
  readonly submission: EmbeddingSubmission;
  readonly listener: EmbeddingListener;
  cancelled: boolean;
}

export class FakeRequest {
  readonly submission: Submission;
  readonly listener: RequestListener;
  readonly whenCancelled: Promise<void>;
  cancelled = false;
  ended = false;
  #resolveCancelled: () => void = () => {};
  #tokens: number[] = [];

  constructor(submission: Submission, listener: RequestListener) {
    this.submission = submission;
    this.listener = listener;
    this.whenCancelled = new Promise((resolve) => {
      this.#resolveCancelled = resolve;
    });
  }

  cancel(): void {
    if (this.ended) return;
    this.cancelled = true;
    this.ended = true;
    this.#resolveCancelled();
  }

  /** Accepted, and every sequence started. */
  begin(promptTokens = 5, cachedTokens = 2, promptText: string | null = null): this {
    this.listener.accepted(promptTokens, promptText);
    for (let index = 0; index < this.submission.n; index++) this.listener.started(index, cachedTokens, 0);
    return this;
  }

  say(text: string, more: Partial<SequenceOutput> = {}): this {
    const index = more.index ?? 0;
    this.#tokens[index] = (this.#tokens[index] ?? 0) + 1;
    this.listener.output({ id: 1, index, text, reasoning: "", tokens: 1, finish: null, ...more });
    return this;
  }

  finish(index = 0, reasoningTokens = 0): this {
    const completionTokens = this.#tokens[index] ?? 0;
    const finish = { reason: "stop" as const, stop: null, completionTokens, reasoningTokens };
    this.listener.output({ id: 1, index, text: "", reasoning: "", tokens: 0, finish });
    return this;
  }

  fail(error: ApiError): void {
    this.ended = true;
    this.listener.failed(error);
  }
}

/** Says each piece as one token, in one turn of the event loop. */
export function saying(...pieces: string[]): (request: FakeRequest) => void {
  return (request) => {
    request.begin();
    for (let index = 0; index < request.submission.n; index++) {
      for (const piece of pieces) request.say(piece, { index });
      request.finish(index);
    }
  };
}
