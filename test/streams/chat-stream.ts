import { errorResponse } from "../../openapi/error-response.ts";
import { type ChatChunk, type ChatResponse, chatChunk } from "../../openapi/generation/chat.ts";
import { exact, rule, same } from "./rule.ts";
import type { NamedEvent } from "./sse.ts";

type Choice = ChatResponse["choices"][number];
type ChoiceDelta = ChatChunk["choices"][number];

export interface StreamedChat {
  choices: Choice[];
  usage: ChatChunk["usage"];
}

/**
 * Throws the Error of the rule that the chunks of a chat completion break.
 *
 * @param cut true for a stream whose client left: it may end after any event
 * @returns the answer to which the chunks add up; null for one that failed or was cut
 */
export function checkChatStream(
  events: readonly NamedEvent[],
  asked: { choices?: number; includeUsage?: boolean; cut?: boolean } = {},
): StreamedChat | null {
  const { choices = 1, includeUsage = false, cut = false } = asked;
  const check = new StreamCheck(choices, includeUsage);
  for (const event of events) check.take(event);
  rule(cut || check.over, "a stream ends with [DONE] or an error", events.at(-1));
  return check.answer;
}

class StreamCheck {
  over = false;
  answer: StreamedChat | null = null;
  readonly #includeUsage: boolean;
  readonly #choices: ChoiceCheck[];
  #head: object | null = null;
  #usage: ChatChunk["usage"];

  constructor(choices: number, includeUsage: boolean) {
    this.#choices = Array.from({ length: choices }, () => new ChoiceCheck());
    this.#includeUsage = includeUsage;
  }

  take({ name, data }: NamedEvent): void {
    rule(name === null, "the events of chunks have no names", name);
    rule(!this.over, "nothing follows the last event", data);
    if (data === "[DONE]") {
      this.#end();
      return;
    }
    const value: unknown = JSON.parse(data);
    if (Object(value).error !== undefined) {
      exact(errorResponse, value);
      this.over = true;
      return;
    }
    const { choices, usage, ...head } = exact(chatChunk, value);
    this.#head ??= head;
    same(head, this.#head, "all chunks have one id, time, model, tier and fingerprint");
    rule(this.#usage == null, "the usage is in the last chunk", usage);
    this.#usage = usage;
    rule(this.#includeUsage === (usage !== undefined), "chunks have a usage where it was asked for", usage);
    rule(usage == null || choices.length === 0, "the chunk with the usage has no choice", choices);
    rule(usage != null || choices.length === 1, "a chunk is of one choice", choices);
    for (const choice of choices) {
      const check = this.#choices[choice.index];
      rule(check !== undefined, "a choice has an index of its answer", choice);
      check.take(choice);
    }
  }

  #end(): void {
    rule(this.#includeUsage === (this.#usage != null), "the usage comes before [DONE]");
    this.over = true;
    this.answer = { choices: this.#choices.map((choice, index) => choice.whole(index)), usage: this.#usage };
  }
}

class ChoiceCheck {
  #begun = false;
  #content = "";
  #reasoning = "";
  #logprobs: NonNullable<Choice["logprobs"]>["content"] | null = null;
  readonly #calls: NonNullable<Choice["message"]["tool_calls"]> = [];
  #reason: Choice["finish_reason"] | null = null;

  take({ delta, logprobs, finish_reason }: ChoiceDelta): void {
    rule(this.#reason === null, "nothing of a choice follows its finish reason", delta);
    if (!this.#begun) {
      this.#begun = true;
      same(
        { delta, logprobs, finish_reason },
        { delta: { role: "assistant", content: "" }, logprobs: null, finish_reason: null },
        "a choice begins with its role alone",
      );
      return;
    }
    if (finish_reason !== null) {
      this.#reason = finish_reason;
      same([delta, logprobs], [{}, null], "a choice ends with its finish reason alone");
      return;
    }
    const { role, content, reasoning_content, tool_calls } = delta;
    rule(role === undefined, "the role comes once", delta);
    const said = [content, reasoning_content, tool_calls, logprobs?.content].filter((part) => part !== undefined);
    rule(said.length > 0 && said.every((part) => part.length > 0), "a delta adds something", { delta, logprobs });
    this.#content += content ?? "";
    this.#reasoning += reasoning_content ?? "";
    for (const call of tool_calls ?? []) this.#call(call);
    if (logprobs !== null) this.#logprobs = [...(this.#logprobs ?? []), ...logprobs.content];
  }

  #call({ index, id, type, function: called }: NonNullable<ChoiceDelta["delta"]["tool_calls"]>[number]): void {
    const begins = id !== undefined;
    rule(
      begins === (type === "function") && begins === (called.name !== undefined),
      "a call begins with all names",
      id,
    );
    const { length } = this.#calls;
    rule(index === (begins ? length : length - 1), "calls are numbered, and come one after the other", index);
    if (begins) {
      rule(id !== "" && this.#calls.every((call) => call.id !== id), "a call has an id of its own", id);
      this.#calls.push({ id, type: "function", function: { name: called.name!, arguments: "" } });
    }
    this.#calls[index]!.function.arguments += called.arguments;
  }

  /** The choice as a whole answer has it. */
  whole(index: number): Choice {
    rule(this.#reason !== null, "every choice has a finish reason", index);
    const calls = this.#calls;
    rule(this.#reason !== "tool_calls" || calls.length > 0, "a choice that ends for a call has one", calls);
    rule(calls.length === 0 || this.#reason !== "stop", "a choice with a call ends for it, or was cut", this.#reason);
    return {
      index,
      message: {
        role: "assistant",
        content: this.#content === "" && calls.length > 0 ? null : this.#content,
        refusal: null,
        ...(this.#reasoning !== "" && { reasoning_content: this.#reasoning }),
        ...(calls.length > 0 && { tool_calls: calls }),
      },
      logprobs: this.#logprobs === null ? null : { content: this.#logprobs, refusal: null },
      finish_reason: this.#reason,
    };
  }
}
