import type { FunctionTool } from "../protocol/prompt.ts";
import type { ToolFormat } from "./syntax/format.ts";
import { Input, type Reading } from "./syntax/input.ts";
import type { ToolEvent } from "./syntax/output.ts";
import { Output } from "./syntax/output.ts";

/** Reads the tool calls of one answer while it is generated. */
export class ToolParser {
  readonly #input = new Input();
  readonly #output = new Output();
  readonly #reading: Reading;

  constructor(format: ToolFormat, tools: readonly FunctionTool[]) {
    this.#reading = format.read(this.#input, this.#output, tools);
  }

  /** True while the text after what was read is reasoning, as far as is known. */
  get thinking(): boolean {
    return this.#output.thinking;
  }

  /** The events that this text makes certain. */
  push(text: string): ToolEvent[] {
    if (text === "") return [];
    this.#input.push(text);
    this.#reading.next();
    return this.#output.take();
  }

  /** The events that were held back, at the end of the answer. */
  finish(): ToolEvent[] {
    this.#input.end();
    this.#reading.next();
    this.#output.finish();
    return this.#output.take();
  }
}
