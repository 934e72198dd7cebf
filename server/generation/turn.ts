import type { Asked } from "../../engine/engine.ts";
import type { ChatMessage, FunctionTool, Thinking } from "../../engine/protocol/prompt.ts";
import type { OnlineTier } from "../../engine/protocol/request.ts";
import type { JsonSchema } from "../../grammar/schema/keywords.ts";

/** The settings of a generation that do not depend on the kind of its prompt. */
export interface GenerationSettings
  extends Pick<
    Asked,
    "n" | "maxTokens" | "minTokens" | "stop" | "stopTokenIds" | "ignoreEos" | "sampling" | "logprobs"
  > {
  tier: OnlineTier;
}

/**
 * One turn of a conversation, in no dialect: every API of chats reads its bodies into turns, and the rest of the server
 * knows turns alone.
 */
export interface Turn {
  messages: ChatMessage[];
  /**
   * The tools in the prompt. These are all tools, since a prompt that changes with the choice would share no prefix with the
   * one before. A turn that may not call any has none, since models call the tools of their prompt.
   */
  tools: FunctionTool[];
  /** Beginning of the answer, which the model continues and does not repeat. Absent where the model writes all of it. */
  answerStart?: string;
  toolUse: ToolUse;
  /** Null: any text. */
  form: AnswerForm | null;
  thinking: Thinking;
  /** Values for the template's own switches. */
  variables: Record<string, unknown>;
  settings: GenerationSettings;
}

/** The rules for calls of the tools. */
export interface ToolUse {
  /** The names that may be called; null for all. */
  allowed: readonly string[] | null;
  /** True where the answer must be a call; else it may be text. */
  required: boolean;
  /** True where several calls are allowed. */
  parallel: boolean;
}

/** The form that an answer without a call must have. */
export interface AnswerForm {
  gbnf: string;
  /** Null for a grammar of the client, beside which there are no tools. */
  schema: JsonSchema | null;
  /** The client's word on the schema, for an engine that enforces only strict ones; absent where it said nothing. */
  strict?: boolean;
}
