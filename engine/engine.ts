import type { ApiError } from "../openapi/api-error.ts";
import type { ModelFacts } from "./protocol/config.ts";
import type { EmbeddingRequest, PieceStats } from "./protocol/embedding.ts";
import type { SequenceOutput } from "./protocol/output.ts";
import type { EngineRequest, OnlineTier } from "./protocol/request.ts";
import type { EngineStatus } from "./protocol/status.ts";
import type { Objectives, StepStats } from "./protocol/step.ts";
import type { TokenAnswer, TokenQuestion } from "./protocol/tokenize.ts";
import type { ToolChoice } from "./protocol/tool-choice.ts";

/**
 * The seam between the server and the program that computes tokens: a local engine process now, an OpenAI-compatible
 * upstream later. Nothing above the seam depends on which. It refuses and fails requests by ApiError, whose codes and
 * statuses are those of the public API: an upstream answers with the same ones.
 */
export interface Engine {
  readonly model: string;
  readonly state: EngineState;
  /** Known once the model was ready for the first time; kept over restarts. */
  readonly facts: ModelFacts | null;
  /** Requests in flight: submitted and not ended. */
  readonly pending: number;
  /** The objectives of online work as they hold now; null until the model was ready. */
  readonly objectives: Objectives | null;
  /** Never throws: an error reaches the listener, after this call has returned. */
  submit(request: Submission, listener: RequestListener): Ticket;
  /** The same for embedding vectors. */
  embed(submission: EmbeddingSubmission, listener: EmbeddingListener): Ticket;
  /**
   * Milliseconds that a request which comes now is predicted to wait until its first step, finite and not negative; 0 while
   * nothing is measured.
   */
  predictedWaitMs(tier: OnlineTier, demand: Demand): number;
  /** The part of it that a cap on the requests and tokens of a minute causes; absent where an engine has none. */
  rateWaitMs?(tier: OnlineTier, demand: Demand): number;
  /** Whole seconds, 1 to 60, after which a request that is refused now may be tried again. */
  readonly retryAfterSeconds: number;
  /** Resolves when the state next becomes ready; rejects when it is or becomes failed or closed, or the signal aborts. */
  ready(signal?: AbortSignal): Promise<ModelFacts>;
  /** Its state in detail; null while it is not ready, when it does not answer in time, or where it has no such report. */
  inspect(): Promise<EngineStatus | null>;
  /**
   * Rejects with an ApiError when the engine refuses the question or is not ready. On abort the question is cancelled, and
   * it rejects with the signal's reason.
   */
  tokenize(question: TokenQuestion, signal: AbortSignal): Promise<TokenAnswer>;
  /** Loads an unloaded model, and tries a failed one again; harmless in any other state. */
  load(): void;
  /** Frees a ready model's memory, unless requests are in flight. Resolves when the memory is free. */
  unload(): Promise<void>;
  close(): Promise<void>;
}

export interface Submission extends Omit<EngineRequest, "id"> {
  /** The choice of tools, for an engine that enforces it by its own means. Absent where its grammar does, or no tools are offered. */
  toolChoice?: ToolChoice;
}
export type EmbeddingSubmission = Omit<EmbeddingRequest, "id">;
/** The part of a submission that follows from the request's body alone: not its owner and not its endpoint. */
export type Asked = Omit<Submission, "owner" | "endpoint">;

/** The requests of one model as the server counts them. */
export interface Demand {
  /** Sequences that were submitted and have not ended: the engine may not have reported the latest yet. */
  submitted: Readonly<Record<OnlineTier, number>>;
  /** Means of recent requests: prompt tokens that one computed, and tokens of one answer. 0 until one ended. */
  promptTokens: number;
  answerTokens: number;
  /** The share, 0 to 1, of the waiting sequences of the request's own tier that goes before it: owners alternate. */
  shareAhead: number;
  /** The share of time that online work takes of the engine, 0 to 1. */
  onlineShare: number;
}

/**
 * | state | entered when | new requests |
 * |---|---|---|
 * | loading | the engine starts | 503 with Retry-After |
 * | ready | the model is loaded | run |
 * | unloading | unload() was called | 503 with Retry-After |
 * | unloaded | its process is gone, or was not started yet | the same; load() leads to loading |
 * | restarting | the process died; a new one starts after a backoff | 503 with Retry-After; a request that runs again waits |
 * | failed | the model can't be loaded, or died too often in a row; some loads are tried again after a backoff | 503 |
 * | closed | close() was called | 503 |
 */
export type EngineState =
  | { name: "loading" /** 0 to 1 */; progress: number /** A request had it loaded. */; onDemand?: true }
  | { name: "ready" }
  | { name: "unloading" }
  | { name: "unloaded" }
  | {
      name: "restarting";
      reason: string /** milliseconds from the death to the next attempt */;
      retryInMs: number;
    }
  | {
      name: "failed";
      reason: string /** milliseconds from the failure to the next attempt; absent where only load() tries again */;
      retryInMs?: number /** The upstream that does not serve the model; absent for a local engine. */;
      upstream?: string;
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

/** Events of every request: accepted comes first; failed may come at any point, once, and is the last. */
export interface WorkListener {
  /** @param estimated true where the engine has not counted the tokens; those of an upstream may be counted later, or never */
  accepted(promptTokens: number, promptText: string | null, estimated?: boolean): void;
  failed(error: ApiError): void;
  /**
   * True: no output was sent to the client and the listener has dropped what it collected, so the request may run once more from
   * the start (accepted, started and output come again). False: after a death failed() follows, else the request goes on.
   */
  mayRestart(interruption: Interruption): boolean;
}

/** The engine process died; or an online request needs the place of one of a lower tier. */
export type Interruption = "died" | "preempted";

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
  /** Ends the request within a step and frees its memory; the listener gets no further event. Harmless when it has ended. */
  cancel(): void;
}

/** Sink of what engines measure; the server's metrics implement it. */
export interface EngineObserver {
  step(model: string, stats: StepStats): void;
  piece(model: string, stats: PieceStats): void;
  /** A process runs for the model; `pid` is null for one that is not on this machine. */
  started(model: string, pid: number | null): void;
  /** The process is gone, with the memory that it held. */
  ended(model: string): void;
  restarted(model: string): void;
}
