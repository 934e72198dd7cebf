import type { FunctionTool } from "../protocol/prompt.ts";
import type { ToolFormat } from "./syntax/format.ts";
import { Input, type Reading } from "./syntax/input.ts";
import type { ToolEvent } from "./syntax/output.ts";
import { Output } from "./syntax/output.ts";

/** Reads the calls of one answer while it comes. */
export class ToolParser {
  readonly #input = new Input();
  readonly #output = new Output();
  readonly #reading: Reading;

  constructor(format: ToolFormat, tools: readonly FunctionTool[]) {
    this.#reading = format.read(this.#input, this.#output, tools);
  }

  /** The text that comes next is a thought, as far as is known. */
  get thinking(): boolean {
    return this.#output.thinking;
  }

  /** What became certain with this text. */
  push(text: string): ToolEvent[] {
    if (text === "") return [];
    this.#input.push(text);
    this.#reading.next();
    return this.#output.take();
  }

  /** At the end of the answer: what was held back. */
  finish(): ToolEvent[] {
    this.#input.end();
    this.#reading.next();
    this.#output.finish();
    return this.#output.take();
  }
}
