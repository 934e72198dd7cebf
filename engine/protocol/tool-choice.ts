import type { JsonSchema } from "../../grammar/schema/keywords.ts";
import type { FunctionTool } from "./prompt.ts";

/** The rules of a request for calls of tools. */
export interface ToolChoice {
  /** The tools that may be called; the grammar is made of these. */
  callable: FunctionTool[];
  /** True where the answer must be a call; else it may be text. */
  required: boolean;
  /** True where some tools of the prompt may not be called. */
  restricted: boolean;
  /** True where several calls are allowed. */
  parallel: boolean;
  /** The JSON schema of an answer without a call; null for any text. */
  answer: JsonSchema | null;
  /** The client's word on that schema, for an engine that enforces only strict ones; absent where it said nothing. */
  strict?: boolean;
}
