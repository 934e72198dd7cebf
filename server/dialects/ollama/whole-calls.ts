import type { ToolCallDelta } from "../../../engine/protocol/output.ts";
import type { OllamaChatAnswer } from "../../../openapi/ollama/chat.ts";
import type { WholeToolCall } from "../../generation/output/body-sink.ts";

export type OllamaCall = NonNullable<OllamaChatAnswer["message"]["tool_calls"]>[number];

/** Makes whole calls of their pieces: a stream has no pieces of a call. */
export class WholeCalls {
  #index = 0;
  #open: WholeToolCall | null = null;

  /** The calls that are complete because the next one begins. */
  push(pieces: readonly ToolCallDelta[]): OllamaCall[] {
    return pieces.flatMap(({ index, id = "", name = "", arguments: args }) => {
      const ended = index === this.#index ? [] : this.end();
      this.#index = index;
      this.#open ??= { id, name, arguments: "" };
      this.#open.arguments += args;
      return ended;
    });
  }

  /** The last call; none where there is none, or where the answer was cut off within it. */
  end(): OllamaCall[] {
    const call = this.#open;
    this.#open = null;
    return call === null ? [] : ollamaCall(call, this.#index);
  }
}

/** Empty for a call whose arguments are no whole object. */
export function ollamaCall({ id, name, arguments: text }: WholeToolCall, index: number): OllamaCall[] {
  const args = objectOf(text);
  return args === null ? [] : [{ id, function: { index, name, arguments: args } }];
}

function objectOf(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : null;
  } catch {
    return null;
  }
}
