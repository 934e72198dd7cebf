import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { ChatMessage, FunctionTool } from "../../engine/protocol/prompt.ts";
import { ToolParser } from "../../engine/tools/parser.ts";
import { SequenceText } from "../../engine/worker/text/output/sequence-text.ts";
import { ChatTemplate } from "../../engine/worker/text/template/chat-template.ts";
import { Random } from "../base/random.ts";
import { type ChatTest, chatTests } from "./chat-tests.ts";
import type { CppMessage } from "./cpp-expression.ts";

const NOW = new Date(0);
const SEED = 1;
/** Splits of each text into random pieces, besides the whole text and its single characters. */
const SPLITS = 8;
const LONGEST_PIECE = 12;
/** Marks of reasoning that stay in the content where a test does not split it. */
const REASONING_MARKS =
  /<\/?think>|\[\/?THINK\]|<\|(?:START|END)_(?:THINKING|RESPONSE|TEXT)\|>|<\|channel>thought|<channel\|>|<\|channel\|>analysis<\|message\|>|<\|end\|>/g;

type Read = ChatTest["expected"];

/** A message that is read otherwise than in the test. */
export interface ChatDifference {
  line: number;
  template: string;
  reason: string;
}

/** The counts of one template. */
export interface ChatCounts {
  template: string;
  format: string;
  messages: number;
  equal: number;
  /** Messages with tool calls, and those of them whose calls are equal. */
  called: number;
  equalCalls: number;
}

export interface ChatSuite {
  counts: ChatCounts[];
  differences: ChatDifference[];
  /** Messages whose result depends on the split. */
  unstable: ChatDifference[];
  continued: number;
}

export const CHAT_HEAD = ["template", "format", "messages", "equal", "with calls", "equal calls"];

export function chatRows({ counts }: ChatSuite): string[][] {
  const sum = (key: "messages" | "equal" | "called" | "equalCalls") => counts.reduce((all, one) => all + one[key], 0);
  const total = {
    messages: sum("messages"),
    equal: sum("equal"),
    called: sum("called"),
    equalCalls: sum("equalCalls"),
  };
  return [...counts, { template: "all", format: "", ...total }].map((one) => {
    return [one.template, one.format, ...[one.messages, one.equal, one.called, one.equalCalls].map(String)];
  });
}

/**
 * Reads every message of llama.cpp's tests/test-chat.cpp as an answer of a model with its template, and compares it with the
 * result that the test expects.
 *
 * @param directory a checkout of https://github.com/ggml-org/llama.cpp
 */
export function runChatSuite(directory: string): ChatSuite {
  const { tests, continued } = chatTests(readFileSync(join(directory, "tests", "test-chat.cpp"), "utf8"));
  const suite: ChatSuite = { counts: [], differences: [], unstable: [], continued: continued.length };
  for (const path of new Set(tests.map(({ template }) => template))) {
    const template = new ChatTemplate(readFileSync(join(directory, path), "utf8"), {
      bos: "",
      eos: "",
      specialTokens: [],
    });
    const counts = countsOf(basename(path, ".jinja"), template.toolFormat.name);
    for (const test of tests.filter((one) => one.template === path)) count(suite, counts, template, test);
    suite.counts.push(counts);
  }
  return suite;
}

function countsOf(template: string, format: string): ChatCounts {
  return { template, format, messages: 0, equal: 0, called: 0, equalCalls: 0 };
}

function count(suite: ChatSuite, counts: ChatCounts, template: ChatTemplate, test: ChatTest): void {
  const label = { line: test.line, template: counts.template };
  const isCalled = test.expected.calls.length > 0;
  counts.messages++;
  if (isCalled) counts.called++;
  let reasons: string[];
  try {
    const read = readerOf(template, test);
    const whole = read([test.input]);
    const splits = [[...test.input], ...randomSplits(test.input, test.line)];
    const other = splits.find((pieces) => JSON.stringify(read(pieces)) !== JSON.stringify(whole));
    if (other !== undefined) suite.unstable.push({ ...label, reason: JSON.stringify(other) });
    reasons = differences(test, whole);
  } catch (error) {
    reasons = [error instanceof Error ? error.message : String(error)];
  }
  if (reasons.length === 0) counts.equal++;
  else suite.differences.push({ ...label, reason: reasons.join("; ") });
  if (isCalled && !reasons.some((reason) => !reason.startsWith("content") && !reason.startsWith("reasoning"))) {
    counts.equalCalls++;
  }
}

/** Reads pieces of an answer to the test's messages. @throws TemplateError where the template fails on them */
function readerOf(template: ChatTemplate, test: ChatTest): (pieces: readonly string[]) => Read {
  const tools = test.tools.map(functionTool);
  const messages = test.messages.map(chatMessage);
  const asked: ChatMessage[] = messages.length > 0 ? messages : [{ role: "user", content: "Hello" }];
  const variables = Object.fromEntries(template.thinking.switches.map((name) => [name, test.thinks]));
  const { startsInReasoning } = template.render(asked, variables, NOW, tools);
  const { toolFormat, reasoningTags } = template;
  const isRead = tools.length > 0 || toolFormat.always === true;
  return (pieces) => {
    const calls = { parser: new ToolParser(toolFormat, tools), newId: () => "" };
    const callMarks = toolFormat.endsThought ?? [];
    const read = isRead ? { calls, callMarks } : {};
    return readPieces(new SequenceText({ stop: [], reasoningTags, startsInReasoning, ...read }), pieces);
  };
}

function readPieces(text: SequenceText, pieces: readonly string[]): Read {
  const result: Read = { content: "", reasoning: "", calls: [] };
  const add = (certain: ReturnType<SequenceText["push"]>) => {
    result.content += certain.text;
    result.reasoning += certain.reasoning;
    for (const { index, id, name, arguments: args } of certain.calls ?? []) {
      result.calls[index] ??= { name: name ?? "", id: id ?? "", arguments: "" };
      result.calls[index].arguments += args;
    }
    return certain.stopped;
  };
  const encoder = new TextEncoder();
  if (!pieces.some((piece) => add(text.push(encoder.encode(piece))))) add(text.finish());
  return result;
}

function randomSplits(text: string, line: number): string[][] {
  const random = new Random(SEED, line);
  const characters = [...text];
  return Array.from({ length: SPLITS }, () => {
    const pieces: string[] = [];
    for (let at = 0; at < characters.length; ) {
      const length = random.integer(1, LONGEST_PIECE);
      pieces.push(characters.slice(at, at + length).join(""));
      at += length;
    }
    return pieces;
  });
}

/** White space around content and reasoning is not compared, as in the tests themselves. */
function differences({ expected, splitsReasoning }: ChatTest, read: Read): string[] {
  const reasons: string[] = [];
  const compare = (part: string, is: string, should: string) => {
    if (is.trim() !== should.trim()) reasons.push(`${part} is ${JSON.stringify(is)}, not ${JSON.stringify(should)}`);
  };
  if (splitsReasoning) {
    compare("content", read.content, expected.content);
    compare("reasoning", read.reasoning, expected.reasoning);
  } else {
    const plain = (text: string) => text.replace(REASONING_MARKS, "").replace(/\s+/g, "");
    compare("content", plain(read.reasoning + read.content), plain(expected.content));
  }
  const calls = (list: CppMessage["calls"]) => list.map(({ name, id, arguments: args }) => [name, canonical(args), id]);
  const [is, should] = [JSON.stringify(calls(read.calls)), JSON.stringify(calls(expected.calls))];
  if (is !== should) reasons.push(`calls are ${is}, not ${should}`);
  return reasons;
}

/** Arguments without white space and with sorted members; "" for those that are not complete. */
function canonical(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), (_, value: unknown) => {
      const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
      return isObject
        ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
        : value;
    });
  } catch {
    return "";
  }
}

function functionTool({ name, description, parameters }: ChatTest["tools"][number]): FunctionTool {
  return {
    type: "function",
    function: { name, description, parameters: JSON.parse(parameters) as Record<string, unknown> },
  };
}

function chatMessage({ role, content, reasoning, calls, callId }: CppMessage): ChatMessage {
  const message: ChatMessage = { role: role as ChatMessage["role"], content };
  if (reasoning !== "") message.reasoning_content = reasoning;
  if (callId !== "") message.tool_call_id = callId;
  if (calls.length === 0) return message;
  const made = calls.map(({ id, name, arguments: args }) => {
    return { id, type: "function" as const, function: { name, arguments: args } };
  });
  return { ...message, tool_calls: made };
}
