import type { Asked } from "../../engine/engine.ts";
import type { ModelFacts } from "../../engine/protocol/config.ts";
import type { OnlineTier } from "../../engine/protocol/request.ts";
import type { ToolChoice } from "../../engine/protocol/tool-choice.ts";
import type { Caller } from "../../ledger/key.ts";
import type { WholeChoice } from "./output/body-sink.ts";
import type { AnswerEnd } from "./output/sink.ts";
import type { AnswerIdentity, StreamFormat } from "./output/stream-format.ts";

/** A valid body of an endpoint that generates, with the writers of its answer. */
export interface GenerationRequest {
  /** Null for the only one that the key may use. */
  model: string | null;
  tier: OnlineTier;
  /** True where the client leaves the tier to the server. Absent in an API in which it cannot. */
  openTier?: boolean;
  submissions: Asked[];
  /** Null where no tools are offered. */
  toolChoice: ToolChoice | null;
  /** True where a prompt that is too long loses its oldest messages; absent where it is refused. */
  truncate?: boolean;
  /** Absent where no prompt is compacted. */
  compaction?: Compaction;
  stream: boolean;
  /** True for a request that is not run: its answer is the rendered prompt and the cost. */
  dryRun: boolean;
  /** Its fields that were accepted and not used. */
  ignored: readonly string[];
  /** Throws the ApiError of a request that the model does not support. Absent where every model that generates does. */
  checkModel?(facts: ModelFacts): void;
  /** `requestId` is the id of the HTTP request, for errors. */
  chunks(identity: AnswerIdentity, requestId: string): StreamFormat;
  whole(identity: AnswerIdentity, choices: readonly WholeChoice[], end: AnswerEnd): object;
  /**
   * Reserves the room of the answer that is to be stored, before it is generated, until the returned function is called.
   * Throws the ApiError of an owner without room. Absent where nothing is stored.
   */
  reserve?(caller: Caller): Promise<() => void>;
  /**
   * Stores a complete answer: its last byte is sent, and its batch line ends, after that. Throws the ApiError of an answer
   * that cannot be stored, which fails and is not charged. Absent where nothing is stored.
   */
  keep?(answer: CompleteAnswer): Promise<void>;
}

/** The text in place of earlier messages in a prompt that has more tokens than its bound. */
export interface Compaction {
  /** Tokens; null for a part of the context. */
  bound: number | null;
  /** The generation of the summary. */
  summary: Pick<GenerationRequest, "submissions" | "toolChoice">;
  /** The request after the summary. It needs grammars, and may be called more than once. */
  continued(summary: WholeChoice): GenerationRequest;
}

export interface CompleteAnswer {
  identity: AnswerIdentity;
  choices: readonly WholeChoice[];
  end: AnswerEnd;
  /** The origin of the request. A batch line has no key: its owner's limits alone apply. */
  caller: Caller;
  /** Null for a batch line. */
  requestId: string | null;
}
