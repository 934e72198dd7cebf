import type { EngineConfig, ModelFacts } from "../protocol/config.ts";
import type { EmbeddingRequest } from "../protocol/embedding.ts";
import type { FromEngine } from "../protocol/messages.ts";
import type { EngineRequest } from "../protocol/request.ts";
import type { EngineStatus } from "../protocol/status.ts";
import type { TokenQuestion } from "../protocol/tokenize.ts";
import type { Adapters } from "./native/adapters.ts";
import type { Library } from "./native/library/library.ts";
import type { MemoryFacts } from "./native/memory-plan.ts";
import type { Model } from "./native/model.ts";

/** The one model of an engine process, at work. Its answers go out as messages. */
export interface LoadedModel {
  readonly facts: ModelFacts;
  readonly warnings: readonly string[];
  /** Null for a model without steps. */
  readonly status: EngineStatus | null;
  /** Runs for as long as the process lives. @throws DecodeError */
  run(): Promise<never>;
  submit(request: EngineRequest): Promise<void>;
  embed(request: EmbeddingRequest): Promise<void>;
  tokenize(id: number, question: TokenQuestion): Promise<void>;
  /** Ends a request, an embedding request or a question about tokens. Harmless when it has ended. */
  cancel(id: number): void;
  /** Calls back when the step or embedding batch that computes now has ended. */
  afterIteration(then: () => void): void;
}

/** The parts of every loaded model. */
export interface ModelParts {
  library: Library;
  model: Model;
  adapters: Adapters;
  config: EngineConfig;
  /** The adapters' bytes count among those of the weights. */
  memory: MemoryFacts;
  /** Compute threads. */
  threads: number;
  post: (message: FromEngine) => void;
}
