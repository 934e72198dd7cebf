import type { ZodType } from "zod";
import type { OllamaChatAnswer } from "../../openapi/ollama/chat.ts";
import { ollamaError } from "../../openapi/ollama/error.ts";
import type { OllamaGenerateAnswer } from "../../openapi/ollama/generate.ts";
import { exact, rule, same } from "./rule.ts";

type Line = OllamaChatAnswer | OllamaGenerateAnswer;
type Call = NonNullable<OllamaChatAnswer["message"]["tool_calls"]>[number];

export interface StreamedLines {
  text: string;
  thinking: string;
  calls: Call[];
  logprobs: NonNullable<Line["logprobs"]>;
  /** The last line, which has the counts. */
  last: Line;
}

const COUNTS = [
  ...(["total_duration", "load_duration", "prompt_eval_duration", "eval_duration"] as const),
  ...(["prompt_eval_count", "eval_count", "done_reason"] as const),
];
/** By RFC 3339, in one form, so that later ones are greater. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
/** Nanoseconds by which rounded durations may differ from their rounded sum. */
const ROUNDING_NS = 2;

/**
 * Throws the Error of the rule that the lines of an answer break.
 *
 * @param cut true for a stream whose client left: it may end at any byte
 * @returns the answer to which the lines add up; null for one that failed or was cut
 */
export function checkLines(body: string, schema: ZodType<Line>, model: string, cut = false): StreamedLines | null {
  const texts = body.split("\n");
  const rest = texts.pop();
  rule(cut || rest === "", "a stream ends with a whole line", rest);
  const said: Omit<StreamedLines, "last"> = { text: "", thinking: "", calls: [], logprobs: [] };
  let last: Line | null = null;
  let failed = false;
  let time = "";
  for (const text of texts) {
    rule(/^\{[^\r\n]*\}$/.test(text), "a line is one object", text);
    rule(last === null && !failed, "nothing follows the last line", text);
    const value: unknown = JSON.parse(text);
    if (Object(value).error !== undefined) {
      exact(ollamaError, value);
      failed = true;
      continue;
    }
    const line = exact(schema, value);
    same(line.model, model, "every line has the model that was asked for");
    rule(TIME.test(line.created_at) && line.created_at >= time, "every line has its time", line);
    time = line.created_at;
    if (line.done) last = checkLast(line);
    else take(line, said);
  }
  rule(cut || failed || last !== null, "a stream ends with a line that is done", texts.at(-1));
  return last === null ? null : { ...said, last };
}

function contentOf(line: Line): { text: string; thinking: string; calls: Call[] } {
  if ("response" in line) return { text: line.response, thinking: line.thinking ?? "", calls: [] };
  const { content, thinking = "", tool_calls: calls = [] } = line.message;
  return { text: content, thinking, calls };
}

function take(line: Line, said: Omit<StreamedLines, "last">): void {
  rule(
    COUNTS.every((name) => line[name] === undefined),
    "the last line alone has the counts",
    line,
  );
  const { text, thinking, calls } = contentOf(line);
  said.text += text;
  said.thinking += thinking;
  for (const call of calls) {
    const before = said.calls.at(-1)?.function.index ?? -1;
    rule(call.function.index > before, "calls are numbered in their order", call);
    rule(call.id !== "" && said.calls.every(({ id }) => id !== call.id), "a call has an id of its own", call);
    said.calls.push(call);
  }
  said.logprobs.push(...(line.logprobs ?? []));
}

function checkLast(line: Line): Line {
  same(contentOf(line), { text: "", thinking: "", calls: [] }, "the last line has no content");
  rule(line.logprobs === undefined, "the last line has no log probabilities", line);
  const [total, ...durations] = COUNTS.slice(0, 4).map((name) => line[name] as number | undefined);
  rule(
    COUNTS.every((name) => line[name] !== undefined),
    "the last line has all counts",
    line,
  );
  const sum = durations.reduce<number>((all, one) => all + one!, 0);
  rule(Math.abs(total! - sum) <= ROUNDING_NS, "the durations add up to their total", line);
  return line;
}
