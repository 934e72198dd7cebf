import type { ApiError } from "../openapi/api-error.ts";
import type { ModelFacts } from "./protocol/config.ts";
import type { EmbeddingRequest, PieceStats } from "./protocol/embedding.ts";
import type { SequenceOutput } from "./protocol/output.ts";
import type { EngineRequest, OnlineTier } from "./protocol/request.ts";
import type { EngineStatus } from "./protocol/status.ts";
import type { Objectives, StepStats } from "./protocol/step.ts";
import type { TokenAnswer, TokenQuestion } from "./protocol/tokenize.ts";

/**
 * The seam between the server and whatever computes tokens: a local engine process now, an OpenAI-compatible upstream
 * later. Nothing above it knows which.
 */
export interface Engine {
  readonly model: string;
  readonly state: EngineState;
  /** Known once the model was ready for the first time; kept over restarts. */
  readonly facts: ModelFacts | null;
  /** Requests submitted and not yet ended. */
  readonly pending: number;
  /** The objectives of online work as they hold now; null until the model was ready. */
  readonly objectives: Objectives | null;
  /** Never throws: what goes wrong reaches the listener, after this call has returned. */
  submit(request: Submission, listener: RequestListener): Ticket;
  /** The same for vectors of texts. */
  embed(submission: EmbeddingSubmission, listener: EmbeddingListener): Ticket;
  /**
   * Milliseconds that a request which comes now is predicted to wait until its first step, finite and not negative; 0 while
   * nothing is measured.
   */
  predictedWaitMs(tier: OnlineTier, demand: Demand): number;
  /** Whole seconds, 1 to 60, after which a request that is refused now may be tried again. */
  readonly retryAfterSeconds: number;
  /** Resolves when the state next becomes ready; rejects when it is or becomes failed or closed, or the signal aborts. */
  ready(signal?: AbortSignal): Promise<ModelFacts>;
  /** How it is doing now; null while it is not ready, when it does not answer, or for one that can't tell. */
  inspect(): Promise<EngineStatus | null>;
  /**
   * Rejects with an ApiError: what the engine refuses, or why it can't be asked now. On abort the question is cancelled, and
   * it rejects with the signal's reason.
   */
  tokenize(question: TokenQuestion, signal: AbortSignal): Promise<TokenAnswer>;
  /** Loads an unloaded model, and tries a failed one again; harmless in any other state. */
  load(): void;
  /** Lets a ready model's memory go, unless it has requests. Resolves when it is free. */
  unload(): Promise<void>;
  close(): Promise<void>;
}

export type Submission = Omit<EngineRequest, "id">;
export type EmbeddingSubmission = Omit<EmbeddingRequest, "id">;
/** What a body says by itself: not who sent it, nor where to. */
export type Asked = Omit<Submission, "owner" | "endpoint">;

/** The requests of one model as the server counts them. */
export interface Demand {
  /** Sequences that were submitted and have not ended: the engine may not have reported the latest yet. */
  submitted: Readonly<Record<OnlineTier, number>>;
  /** Means of recent requests: prompt tokens that one computed, and tokens of one answer. 0 until one ended. */
  promptTokens: number;
  answerTokens: number;
  /** The share, 0 to 1, of the waiting sequences of the asked tier that goes before the request: owners alternate. */
  shareAhead: number;
  /** The share of time that online work takes of the engine, 0 to 1. */
  onlineShare: number;
}

/**
 * | state | how it is entered | new requests |
 * |---|---|---|
 * | loading | at start | 503 with Retry-After |
 * | ready | the model is loaded | run |
 * | unloading | unload() was called | 503 with Retry-After |
 * | unloaded | its process is gone, or was not started yet | the same; load() leads to loading |
 * | restarting | the process died; a new one starts after a backoff | 503 with Retry-After; a retried one waits |
 * | failed | the model can't be loaded, or died too often in a row; some are tried again after a backoff | 503 |
 * | closed | close() was called | 503 |
 */
export type EngineState =
  | { name: "loading" /** 0 to 1 */; progress: number /** Because somebody asked for it. */; onDemand?: true }
  | { name: "ready" }
  | { name: "unloading" }
  | { name: "unloaded" }
  | {
      name: "restarting";
      reason: string /** milliseconds until the next attempt, when it was decided */;
      retryInMs: number;
    }
  | {
      name: "failed";
      reason: string /** milliseconds until it is tried again, when it was decided; without it, at load() alone */;
      retryInMs?: number;
    }
  | { name: "closed" };

/** The names of all states. */
export const ENGINE_STATES = [
  "loading",
  "ready",
  "unloading",
  "unloaded",
  "restarting",
  "failed",
  "closed",
] as const satisfies readonly EngineState["name"][];

/** What every request hears: accepted before all else, and failed at any point, once, last. */
export interface WorkListener {
  accepted(promptTokens: number, promptText: string | null): void;
  failed(error: ApiError): void;
  /**
   * The engine process died. True: the client has seen nothing yet and the listener has forgotten what it collected, so
   * the request may run once more from the start (accepted, started and output come again). False: failed() follows.
   */
  mayRestart(): boolean;
}

/** Between accepted and the end: (started, output…) per sequence. */
export interface RequestListener extends WorkListener {
  /** @param agoMs milliseconds since the first step of the sequence began */
  started(index: number, cachedTokens: number, agoMs: number): void;
  output(output: SequenceOutput): void;
}

/** Between accepted and the end: started, then a vector for every input, in any order. */
export interface EmbeddingListener extends WorkListener {
  started(): void;
  vector(index: number, vector: Float32Array): void;
}

export interface Ticket {
  /** Ends the request within a step and frees what it holds; the listener hears nothing more. Harmless when it has ended. */
  cancel(): void;
}

/** Where engines report what they measure; the server's metrics implement it. */
export interface EngineObserver {
  step(model: string, stats: StepStats): void;
  piece(model: string, stats: PieceStats): void;
  /** A process runs for the model; `pid` is null for one that is not on this machine. */
  started(model: string, pid: number | null): void;
  /** It is gone, and all that it held with it. */
  ended(model: string): void;
  restarted(model: string): void;
}
