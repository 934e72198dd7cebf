import type { GrammarBuilder } from "../../../grammar/schema/builder.ts";
import type { FunctionTool } from "../../protocol/prompt.ts";
import type { Input, Reading } from "./input.ts";
import type { Output } from "./output.ts";

/** A function that may be called, as a grammar needs it. */
export interface CallableTool {
  name: string;
  /** The JSON schema of its arguments, an object. */
  parameters: Record<string, unknown>;
  /** Adds the rules of its arguments as JSON. @returns the rule's name */
  argumentsRule: () => string;
  /** The same for the JSON of one argument, whose schema this is. */
  valueRule: (schema: unknown) => string;
}

export interface CallSyntax {
  /** Right-hand sides in GBNF: one whole call for each tool, in their order. */
  calls: string[];
  /** What stands before the first call, between two and after the last; "" for nothing. */
  open: string;
  between: string;
  close: string;
  /** False: one answer holds one call at most. */
  several: boolean;
  /** Where text may come first: the output that begins the calls holds one of these, and `open` begins with it. */
  triggers: string[];
  /** What may stand before `open` where a call is required, in GBNF. */
  before?: string;
}

/** How the models of one family write tool calls. */
export interface ToolFormat {
  readonly name: string;
  /** Whether a chat template asks its model for this format. */
  fits(template: string): boolean;
  /** Texts, of control tokens in some vocabularies, that must show in the output for this format to be read. */
  readonly marks: readonly string[];
  /** True: answers have this form also where no tools are offered. */
  readonly always?: true;
  /** GBNF of what such an answer has before its text, on one line and without rules. */
  readonly answer?: string;
  /** Reads one answer to its end. What is no whole beginning of a call is text; nothing is ever an error. */
  read(input: Input, out: Output, tools: readonly FunctionTool[]): Reading;
  syntax(tools: readonly CallableTool[], grammar: GrammarBuilder): CallSyntax;
}
