import type { ChatMessage, FunctionTool } from "../../../engine/protocol/prompt.ts";

/** A conversation that every template renders. */
export interface Conversation {
  title: string;
  messages: ChatMessage[];
  tools: FunctionTool[];
  /** Variables of the template that a client sets. */
  variables: Record<string, unknown>;
}

const system = message("system", "Answer in one sentence.");
const question = message("user", "What is the weather in Paris?");
const answer = message("assistant", "It rains in Paris.");
const next = message("user", "And in Oslo?");
const tools = [
  tool("get_weather", "The weather of a city", {
    type: "object",
    properties: {
      city: { type: "string", description: "Name of the city" },
      days: { type: "integer", description: "Days ahead", default: 1 },
    },
    required: ["city"],
  }),
  tool("set_alarm", "Sets an alarm", {
    type: "object",
    properties: {
      at: {
        type: "object",
        description: "A time",
        properties: { hour: { type: "integer" }, minute: { type: "number", minimum: 0, maximum: 59.5 } },
        required: ["hour", "minute"],
        additionalProperties: false,
      },
      days: { type: "array", description: "Days", items: { type: "string", enum: ["mon", "tue"] } },
      label: { anyOf: [{ type: "string" }, { type: "null" }], description: 'A "label" with <b> & é' },
      loud: { type: "boolean", description: "Volume", default: false },
    },
    required: ["at", "days"],
  }),
];
const bareTools: FunctionTool[] = [
  { type: "function", function: { name: "now" } },
  {
    type: "function",
    function: { name: "add", parameters: { type: "object", properties: { a: { type: "number" }, b: {} } } },
  },
];
const called = calls(null, ["call_000000001", "get_weather", { city: "Paris", days: 2 }]);
const result = answerOf("call_000000001", '{"temperature": 21.5, "sky": "clear"}');
const alarm = { at: { hour: 7, minute: 30.5 }, days: ["mon", "tue"], label: 'Say "hi" & <go> to München', loud: true };

/** Conversations of all kinds of messages: no images, since no template gets any. */
export const CONVERSATIONS: readonly Conversation[] = [
  one("question", [question]),
  one("system", [system, question]),
  one("turns", [system, question, answer, next]),
  one("ends with an answer", [question, answer]),
  one("developer", [message("developer", "Be brief."), question]),
  one("later system message", [question, answer, message("system", "Now in French."), next]),
  one("text of all kinds", [
    message("system", "  Line one\n\n  <b>\"quoted\" & 'single'</b>  \n"),
    message("user", "\n  ünïcode 北京 🦓 {{ braces }} {% raw %} \\n \t end  \n"),
    message("assistant", "  kept?  \n"),
    message("user", " again "),
  ]),
  one("tools", [question], { tools }),
  one("tools, system", [system, question], { tools }),
  one("tools, bare", [question], { tools: bareTools }),
  one("call", [question, called, result], { tools }),
  one("call with text", [question, { ...called, content: "I look it up." }, result], { tools }),
  one("call, no tools", [question, called, result]),
  one("call, answered", [system, question, called, result, answer, next], { tools }),
  one(
    "calls in a row",
    [
      question,
      called,
      result,
      calls(null, ["call_000000002", "set_alarm", alarm]),
      answerOf("call_000000002", "set"),
      answer,
      next,
    ],
    { tools },
  ),
  one(
    "parallel calls",
    [
      question,
      calls(
        "Both at once.",
        ["call_000000003", "get_weather", { city: "Oslo" }],
        ["call_000000004", "set_alarm", alarm],
      ),
      answerOf("call_000000003", "snow"),
      answerOf("call_000000004", '["done", 1, null]'),
    ],
    { tools },
  ),
  one(
    "call without arguments",
    [question, calls("", ["call_000000005", "now", {}]), answerOf("call_000000005", "12")],
    {
      tools: bareTools,
    },
  ),
  one("thought", [question, { ...answer, reasoning_content: "Rain is likely." }, next]),
  one("thought before a call", [question, { ...called, reasoning_content: "I need the tool." }, result], { tools }),
  one(
    "thoughts in two turns",
    [
      system,
      question,
      { ...called, reasoning_content: "First the tool." },
      result,
      { ...answer, reasoning_content: "The sky is clear." },
      next,
    ],
    { tools },
  ),
  one("thinking on", [question], { variables: { enable_thinking: true } }),
  one("thinking off", [system, question], { variables: { enable_thinking: false } }),
  one("thinking off, tools", [question, called, result], { tools, variables: { enable_thinking: false } }),
].flatMap((conversation) => [
  conversation,
  {
    ...conversation,
    title: `${conversation.title}, no generation prompt`,
    variables: { ...conversation.variables, add_generation_prompt: false },
  },
]);

function one(title: string, messages: ChatMessage[], others: Partial<Conversation> = {}): Conversation {
  return { title, messages, tools: [], variables: {}, ...others };
}

function message(role: ChatMessage["role"], content: string): ChatMessage {
  return { role, content };
}

function answerOf(id: string, content: string): ChatMessage {
  return { role: "tool", tool_call_id: id, content };
}

function calls(content: string | null, ...made: [id: string, name: string, args: object][]): ChatMessage {
  return {
    role: "assistant",
    content,
    tool_calls: made.map(([id, name, args]) => {
      return { id, type: "function", function: { name, arguments: JSON.stringify(args) } };
    }),
  };
}

function tool(name: string, description: string, parameters: Record<string, unknown>): FunctionTool {
  return { type: "function", function: { name, description, parameters } };
}
