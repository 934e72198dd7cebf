/** The schema of the function that stands for a custom tool. */
export const CUSTOM_PARAMETERS = {
  type: "object",
  properties: { input: { type: "string" } },
  required: ["input"],
  additionalProperties: false,
};

/** The arguments of the function that stands for a custom tool. */
export function customArguments(input: string): string {
  return JSON.stringify({ input });
}

/** The input of a call of a custom tool, as far as its arguments are complete. */
export function customInput(args: string): string {
  return new CustomInput().push(args);
}

/** The beginning of the arguments, with any spaces. */
const HEAD = /^\s*\{\s*"input"\s*:\s*"/;
const HEAD_WITHOUT_SPACES = '{"input":"';
/**
 * Characters and whole escapes of a JSON string: of a surrogate pair as escapes, both; the first of a pair alone where the
 * text after it is certainly not the second.
 */
const WHOLE =
  /^(?:[^"\\]+|\\["\\/bfnrt]|\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?=[^\\]|\\[^u]|\\u[^dD]|\\u[dD][^c-fC-F]))|\\u(?![dD][89abAB])[0-9a-fA-F]{4})+/;

/** Decodes the input of a custom tool from the pieces of its arguments. Text of another form is the input itself. */
export class CustomInput {
  #rest = "";
  #form: "undecided" | "decoded" | "verbatim" = "undecided";

  /** The part of the input that the next piece completes. */
  push(piece: string): string {
    this.#rest += piece;
    if (this.#form === "undecided") this.#decide();
    if (this.#form === "undecided") return "";
    if (this.#form === "verbatim") {
      const text = this.#rest;
      this.#rest = "";
      return text;
    }
    const whole = WHOLE.exec(this.#rest)?.[0] ?? "";
    this.#rest = this.#rest.slice(whole.length);
    return unescaped(whole);
  }

  #decide(): void {
    const head = HEAD.exec(this.#rest);
    if (head !== null) {
      this.#form = "decoded";
      this.#rest = this.#rest.slice(head[0].length);
    } else if (!HEAD_WITHOUT_SPACES.startsWith(this.#rest.replace(/\s/g, ""))) {
      this.#form = "verbatim";
    }
  }
}

/** Control characters stand in the text of models that escape none. */
function unescaped(text: string): string {
  // All characters below the space, which JSON has escaped alone.
  const valid = text.replace(/[^ -\u{10ffff}]/gu, (char) => JSON.stringify(char).slice(1, -1));
  return JSON.parse(`"${valid}"`);
}
