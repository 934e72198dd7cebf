import type { Asked } from "../../engine/engine.ts";
import type { ModelFacts } from "../../engine/protocol/config.ts";
import type { FunctionTool } from "../../engine/protocol/prompt.ts";
import type { GrammarRule } from "../../engine/protocol/request.ts";
import type { ToolChoice } from "../../engine/protocol/tool-choice.ts";
import { toolFormat } from "../../engine/tools/format-list.ts";
import type { CallableTool, ToolFormat } from "../../engine/tools/syntax/format.ts";
import { GrammarBuilder } from "../../grammar/conversion/builder.ts";
import { schemaRule } from "../../grammar/conversion/schema-rules.ts";
import { kept } from "../../grammar/kept-grammars.ts";
import { jsonWithin } from "../../grammar/schema/json-length.ts";
import { isSchemaObject } from "../../grammar/schema/keywords.ts";
import { GrammarTooLarge, UnsupportedSchema } from "../../grammar/schema/unsupported-schema.ts";
import { ApiError, invalidRequest } from "../../openapi/api-error.ts";

/** Most characters of a grammar that enforces the schemas of all tools: compiling it takes the engine a tenth of a second, once. */
const MOST_CHARACTERS = 128 * 1024;
/** Most characters of a choice and its tools' schemas as JSON. Above it, only the names of arguments are enforced, except for strict tools. */
const MOST_SOURCE_CHARACTERS = 512 * 1024;

/**
 * The engine requests of a request, with their grammars for this model: the grammar of its choice of tools, and that of its
 * answer in the form in which this model begins all answers. An upstream is sent the choice and the schema themselves.
 */
export function enforceForm(
  { submissions, toolChoice }: { submissions: Asked[]; toolChoice: ToolChoice | null },
  facts: ModelFacts,
): Asked[] {
  if (facts.upstream !== null)
    return toolChoice === null ? submissions : submissions.map((asked) => ({ ...asked, toolChoice }));
  const format = toolFormat(facts.toolFormat);
  if (toolChoice === null) return submissions.map((asked) => led(asked, format));
  const rule = keptRule(toolChoice, facts.toolFormat);
  return rule === null ? submissions : submissions.map((asked) => ({ ...asked, grammar: rule }));
}

function led(asked: Asked, { answer }: ToolFormat): Asked {
  if (asked.grammar === null) return asked;
  const { schema: _, strict: _strict, ...grammar } = asked.grammar;
  if (answer === undefined || asked.prompt.kind !== "chat") return { ...asked, grammar };
  return { ...asked, grammar: { ...grammar, lead: answer } };
}

/** toolRule, made once for equal choices. */
function keptRule(choice: ToolChoice, format: ModelFacts["toolFormat"]): GrammarRule | null {
  if (isFree(choice)) return null;
  // Grammars do not depend on descriptions.
  const callable = choice.callable.map(({ type, function: { name, parameters, strict } }) => {
    return { type, function: { name, parameters, strict } };
  });
  const sourceOf = (tools: FunctionTool[]): ToolSource => ({ choice: { ...choice, callable: tools }, format });
  const text =
    jsonWithin(sourceOf(callable), MOST_SOURCE_CHARACTERS) ??
    jsonWithin(sourceOf(callable.map(withNamesAlone)), MOST_SOURCE_CHARACTERS);
  if (text === null) throw tooLarge();
  const made = kept({ kind: "tools", text }, () => toolOutcome(text));
  if (made === "") return null;
  const outcome = JSON.parse(made) as ToolOutcome;
  if ("refusal" in outcome) throw invalidRequest("invalid_value", "tools", outcome.refusal);
  return outcome.rule;
}

interface ToolSource {
  choice: ToolChoice;
  format: ModelFacts["toolFormat"];
}
type ToolOutcome = { rule: GrammarRule | null } | { refusal: string };

/** The tool with the names of its arguments alone, unless it is strict. */
function withNamesAlone(tool: FunctionTool): FunctionTool {
  const { name, parameters } = tool.function;
  if (isStrict(tool) || parameters === undefined) return tool;
  return { type: tool.type, function: { name, parameters: { properties: namesOf(parameters) } } };
}

function namesOf({ properties }: Record<string, unknown>): Record<string, unknown> {
  return isSchemaObject(properties) ? Object.fromEntries(Object.keys(properties).map((key) => [key, {}])) : {};
}

function tooLarge(): ApiError {
  return invalidRequest("invalid_value", "tools", "The grammar that these tools take is too large.");
}

/** The result or the error of toolRule for a source of the kind `tools`, as JSON. */
export function toolOutcome(text: string): string {
  const { choice, format } = JSON.parse(text) as ToolSource;
  let outcome: ToolOutcome;
  try {
    outcome = { rule: toolRule(choice, toolFormat(format)) };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    outcome = { refusal: error.message };
  }
  return JSON.stringify(outcome);
}

function isFree({ callable, required, restricted, parallel, answer }: ToolChoice): boolean {
  return !required && !restricted && parallel && answer === null && !callable.some(isStrict);
}

/**
 * The grammar of a request's choice of tools; null where any tool may be called, any number of times, and none is strict.
 *
 * Where a call is required, the grammar applies from the beginning of the answer. Else text may come first, and it applies
 * from the first call on; or the answer is either calls or the format of `response_format`. Arguments of strict tools follow
 * their schemas; those of other tools do where their schemas can be enforced.
 *
 * Throws the ApiError of a strict tool whose schema cannot be enforced.
 */
export function toolRule(choice: ToolChoice, format: ToolFormat): GrammarRule | null {
  if (isFree(choice)) return null;
  try {
    return ruleOf(choice, format, new GrammarBuilder(MOST_CHARACTERS), callableTool);
  } catch (error) {
    if (!(error instanceof GrammarTooLarge)) throw error;
  }
  try {
    return ruleOf(choice, format, new GrammarBuilder(), looseTool);
  } catch (error) {
    if (!(error instanceof GrammarTooLarge)) throw error;
    throw tooLarge();
  }
}

function ruleOf(
  { callable, required, parallel, answer }: ToolChoice,
  format: ToolFormat,
  grammar: GrammarBuilder,
  asCallable: typeof callableTool,
): GrammarRule {
  const tools = callable.map((tool) => asCallable(tool, grammar));
  const { open, calls, between, close, several, triggers, before = "" } = format.syntax(tools, grammar);
  const call = grammar.rule("call", calls.join(" | "));
  const more = several && parallel ? `(${between} ${call})*` : "";
  const text = [open, call, more, close].filter(Boolean).join(" ");
  if (required) return { gbnf: grammar.build(`${before} ${text}`), triggers: null };
  if (answer === null) return { gbnf: grammar.build(text), triggers };
  const other = `${format.answer ?? ""} ${schemaRule(grammar, answer)}`;
  return { gbnf: grammar.build(`${before} ${text} | ${other}`), triggers: null };
}

function isStrict({ function: { strict } }: FunctionTool): boolean {
  return strict === true;
}

/** The schema of a tool without parameters: its arguments are an empty object, not any object. */
const NO_PARAMETERS: Record<string, unknown> = { type: "object", properties: {}, additionalProperties: false };

function callableTool(tool: FunctionTool, grammar: GrammarBuilder): CallableTool {
  const { name, parameters = NO_PARAMETERS } = tool.function;
  const definitions = { $defs: parameters.$defs, definitions: parameters.definitions };
  const enforced = (schema: Record<string, unknown>, object: boolean): string => {
    try {
      return schemaRule(grammar, schema, { object });
    } catch (error) {
      if (!(error instanceof UnsupportedSchema) || error instanceof GrammarTooLarge) throw error;
      if (isStrict(tool)) throw unsupported(name, error);
      return object ? grammar.json.object : grammar.json.value;
    }
  };
  return {
    name,
    parameters,
    argumentsRule: () => enforced(parameters, true),
    valueRule: (schema) => {
      const known = typeof schema === "object" && schema !== null;
      return known ? enforced({ ...definitions, ...schema }, false) : grammar.json.value;
    },
  };
}

/** The tool with arguments of any value, unless it is strict. Their names stay, for formats that write them one by one. */
function looseTool(tool: FunctionTool, grammar: GrammarBuilder): CallableTool {
  if (isStrict(tool)) return callableTool(tool, grammar);
  const { name, parameters = {} } = tool.function;
  return {
    name,
    parameters: { properties: namesOf(parameters) },
    argumentsRule: () => grammar.json.object,
    valueRule: () => grammar.json.value,
  };
}

function unsupported(name: string, { path, message }: UnsupportedSchema) {
  const where = ["parameters", ...path].join(".");
  return invalidRequest(
    "invalid_value",
    "tools",
    `Unsupported schema of the strict tool '${name}': '${where}': ${message}`,
  );
}
