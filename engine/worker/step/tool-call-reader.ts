import { randomBytes } from "node:crypto";
import type { Prompt } from "../../protocol/prompt.ts";
import { ToolParser } from "../../tools/parser.ts";
import type { ToolFormat } from "../../tools/syntax/format.ts";
import { VocabularyGrammars } from "../grammar/vocabulary-grammar.ts";
import type { Vocabulary } from "../native/vocabulary.ts";
import type { SequenceTextOptions } from "../text/output/sequence-text.ts";

/** Reads the answers of one model for tool calls. */
export class ToolCallReader {
  /** Control tokens that are text in answers that are read. */
  readonly marks: ReadonlyMap<number, Uint8Array>;
  /** Grammars that may contain these tokens. */
  readonly grammars: VocabularyGrammars;
  readonly #format: ToolFormat;

  /** @param grammars those of answers that are not read */
  constructor(
    format: ToolFormat,
    vocabulary: Pick<Vocabulary, "size" | "endTokens" | "isEnd" | "piece" | "hidden">,
    grammars: VocabularyGrammars,
  ) {
    this.#format = format;
    const marks = vocabulary.hidden(format.marks);
    this.marks = marks;
    if (marks.size === 0) this.grammars = grammars;
    else {
      this.grammars = new VocabularyGrammars({
        size: vocabulary.size,
        endTokens: vocabulary.endTokens,
        isEnd: (token) => vocabulary.isEnd(token),
        piece: (token) => marks.get(token) ?? vocabulary.piece(token),
      });
    }
  }

  /** Whether answers to this prompt are read. */
  reads(prompt: Prompt): prompt is Extract<Prompt, { kind: "chat" }> {
    return prompt.kind === "chat" && (prompt.tools.length > 0 || this.#format.always === true);
  }

  /** Beginnings of calls that end reasoning in answers to this prompt. */
  callMarks(prompt: Prompt): readonly string[] {
    return this.reads(prompt) ? (this.#format.endsThought ?? []) : [];
  }

  /** The parser of one answer. */
  calls(prompt: Extract<Prompt, { kind: "chat" }>): NonNullable<SequenceTextOptions["calls"]> {
    return {
      parser: new ToolParser(this.#format, prompt.tools),
      newId: () => `call_${randomBytes(12).toString("hex")}`,
    };
  }
}
