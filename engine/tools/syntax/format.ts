import type { GrammarBuilder } from "../../../grammar/conversion/builder.ts";
import type { FunctionTool } from "../../protocol/prompt.ts";
import type { Input, Reading } from "./input.ts";
import type { Output } from "./output.ts";

/** A function that may be called, with the rules for its grammar. */
export interface CallableTool {
  name: string;
  /** The JSON schema of its arguments, an object. */
  parameters: Record<string, unknown>;
  /** Adds the rules of its arguments as JSON. @returns the name of the rule */
  argumentsRule: () => string;
  /** Adds the rules of one argument as JSON, by its schema. @returns the name of the rule */
  valueRule: (schema: unknown) => string;
}

export interface CallSyntax {
  /** Right-hand sides in GBNF: one complete call for each tool, in their order. */
  calls: string[];
  /** GBNF before the first call, between two calls and after the last; "" for nothing. */
  open: string;
  between: string;
  close: string;
  /** False when an answer has at most one call. */
  several: boolean;
  /** Texts with which calls begin that text may precede; `open` begins with one of them too. */
  triggers: string[];
  /** GBNF that may precede `open` where a call is required. */
  before?: string;
}

/** The notation for tool calls of one family of models. */
export interface ToolFormat {
  readonly name: string;
  /** True when a chat template asks its model for this format. */
  fits(template: string): boolean;
  /** Texts that the output must show for this format to be read, also where they are control tokens of the vocabulary. */
  readonly marks: readonly string[];
  /** Tags around reasoning, for templates whose text does not name them. */
  readonly reasoningTags?: { open: string; close: string };
  /** Beginnings of calls at which open reasoning ends: models of the family call without closing it. */
  readonly endsThought?: readonly string[];
  /** A call with placeholders, for instructions where a template renders calls and no tools. */
  readonly example?: string;
  /** True when answers have this form also without tools. */
  readonly always?: boolean;
  /** GBNF of the part of such an answer before its text, on one line and without rules. */
  readonly answer?: string;
  /** Reads one answer to its end. Anything but the complete beginning of a call is text; no answer is an error. */
  read(input: Input, out: Output, tools: readonly FunctionTool[]): Reading;
  syntax(tools: readonly CallableTool[], grammar: GrammarBuilder): CallSyntax;
}
