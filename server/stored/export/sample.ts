import { createHash } from "node:crypto";

/** One line of a data set for fine-tuning in OpenAI's format of chats: the last message is the answer. */
export interface Sample {
  messages: object[];
  tools?: unknown[];
}

type Fields = Readonly<Record<string, unknown>>;

/** A stored chat completion as a sample: the messages of its request and its first choice. Null without a choice. */
export function completionSample(completion: Fields, messages: readonly Fields[]): Sample | null {
  const [choice] = listOf(completion.choices);
  if (choice === undefined) return null;
  const answer = given(Object(choice.message), ["role", "content", "tool_calls"]);
  return sample([...messages.map((message) => given(message)), answer], listOf(completion.tools));
}

/** A stored response as a sample: its instructions, the items before it and of its input, and its output. */
export function responseSample(response: Fields, items: readonly Fields[]): Sample | null {
  const messages: Record<string, unknown>[] = [];
  if (typeof response.instructions === "string") messages.push({ role: "system", content: response.instructions });
  for (const item of items) addItem(messages, item);
  if (messages.at(-1)?.role !== "assistant") return null;
  const tools = listOf(response.tools).flatMap(({ type, name, description, parameters, strict }) =>
    type === "function" ? [{ type, function: given({ name, description, parameters, strict }) }] : [],
  );
  return sample(messages, tools);
}

/** The part of the data set, by a hash of the messages before the answer: answers to one prompt stay together. */
export function isValidation({ messages }: Sample, percent: number): boolean {
  return digest(messages.slice(0, -1)).readUInt32BE() % 100 < percent;
}

/** A number that equal samples share. Others share it with a chance of 2^-48. */
export function identity(sample: Sample): number {
  return digest(sample).readUIntBE(0, 6);
}

function digest(value: unknown): Buffer {
  return createHash("sha256").update(JSON.stringify(value)).digest();
}

function sample(messages: object[], tools: unknown[]): Sample {
  return tools.length > 0 ? { messages, tools } : { messages };
}

/** Adds an item of a response. Calls and text of one turn are one message; thoughts are left out. */
function addItem(messages: Record<string, unknown>[], item: Fields): void {
  const last = messages.at(-1);
  switch (item.type) {
    case "message":
      messages.push({ role: item.role, content: textOf(item.content) });
      return;
    case "function_call": {
      const call = { id: item.call_id, type: "function", function: { name: item.name, arguments: item.arguments } };
      if (last?.role !== "assistant") messages.push({ role: "assistant", content: null, tool_calls: [call] });
      else last.tool_calls = [...listOf(last.tool_calls), call];
      return;
    }
    case "function_call_output":
      messages.push({ role: "tool", tool_call_id: item.call_id, content: textOf(item.output) });
  }
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  const texts = listOf(content).map(({ text, refusal }) => text ?? refusal);
  return texts.filter((text) => typeof text === "string").join("\n");
}

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value : [];
}

/** The fields of an object that have a value, or those of the given names; `content` stays where it is null. */
function given(fields: Fields, names: readonly string[] = Object.keys(fields)): object {
  return Object.fromEntries(
    names.flatMap((name) => (fields[name] != null || name === "content" ? [[name, fields[name] ?? null]] : [])),
  );
}
