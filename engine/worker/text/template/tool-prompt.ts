import type { ChatMessage, FunctionTool } from "../../../protocol/prompt.ts";

const HERMES_CALL = [
  "To call one, write its name and arguments as JSON between <tool_call> and </tool_call>; for several calls, repeat it:",
  "<tool_call>",
  '{"name": "the function\'s name", "arguments": {"argument": "value"}}',
  "</tool_call>",
  "The results come between <tool_response> and </tool_response>.",
];

/**
 * Tools for models whose templates do not render them: a part of the system message lists the tools. Where the template
 * renders calls, `example` is one of its own form; else calls have the form of Hermes, on which many models were trained, and
 * calls and results in the history are text.
 */
export function toolInstructions(tools: readonly FunctionTool[], example?: string): string {
  const described = tools.map((tool) => JSON.stringify(templateTool(tool)));
  return [
    "# Tools",
    "",
    "You may call functions to help with the user's request. They are described between <tools> and </tools>:",
    "<tools>",
    ...described,
    "</tools>",
    "",
    ...(example === undefined
      ? HERMES_CALL
      : ["To call one, write its name and arguments as JSON in this form:", example]),
    "Answer without a call where none is needed.",
  ].join("\n");
}

/** The messages with the instructions at the end of their system message, or in a system message before them. */
export function withInstructions(messages: readonly ChatMessage[], instructions: string): ChatMessage[] {
  const [first, ...others] = messages;
  if (first?.role !== "system") return [{ role: "system", content: instructions }, ...messages];
  return [{ ...first, content: [first.content ?? "", instructions].filter(Boolean).join("\n\n") }, ...others];
}

/** Calls as text of the assistant, results as text of the user, those of one turn in one message. */
export function withCallsAsText(messages: readonly ChatMessage[]): ChatMessage[] {
  const result: ChatMessage[] = [];
  let answering = false;
  for (const message of messages) {
    const last = result.at(-1);
    if (message.role === "tool") {
      const content = `<tool_response>\n${message.content ?? ""}\n</tool_response>`;
      if (answering && last !== undefined) last.content += `\n${content}`;
      else result.push({ role: "user", content });
    } else {
      const { tool_calls: calls, ...rest } = message;
      const texts = (calls ?? []).map(({ function: { name, arguments: args } }) => {
        return `<tool_call>\n{"name": ${JSON.stringify(name)}, "arguments": ${args}}\n</tool_call>`;
      });
      const content = texts.length === 0 ? rest.content : [rest.content ?? "", ...texts].filter(Boolean).join("\n");
      result.push({ ...rest, content });
    }
    answering = message.role === "tool";
  }
  return result;
}

/** The fields of a tool that are filled in where the client left them out, since a template fails without them. */
export interface ToolFields {
  /** True: `type` and `properties` of parameters. */
  schemas: boolean;
  /** True: descriptions of arguments. */
  descriptions: boolean;
}

export const ALL_FIELDS: ToolFields = { schemas: true, descriptions: false };

/** A tool as llama-server gives it to templates, with further fields. The members of given parameters keep their order. */
export function templateTool({ function: { name, description, parameters } }: FunctionTool, fields = ALL_FIELDS) {
  const schema: Record<string, unknown> = { ...parameters };
  if (fields.schemas) {
    schema.type ??= "object";
    schema.properties ??= {};
  }
  if (fields.descriptions) schema.properties = withDescriptions(schema.properties ?? {});
  return { type: "function", function: { name, description: description ?? "", parameters: schema } };
}

function withDescriptions(properties: object): object {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [
      name,
      typeof schema === "object" ? { ...schema, description: schema?.description ?? "" } : schema,
    ]),
  );
}
