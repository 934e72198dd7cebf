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

/** The input of a call of a custom tool; text of another form is the input itself. */
export function customInput(args: string): string {
  const decoder = new CustomInput();
  const input = decoder.push(args);
  return decoder.begun ? input : args;
}

/** `{"input":"`, with any spaces. */
const HEAD = /^\s*\{\s*"input"\s*:\s*"/;
/** Characters and whole escapes of a JSON string; of a surrogate pair as escapes, both. */
const WHOLE =
  /^(?:[^"\\]+|\\["\\/bfnrt]|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u(?![dD][89abAB])[0-9a-fA-F]{4})+/;

/** Decodes the input of a custom tool from the pieces of its arguments. */
export class CustomInput {
  #rest = "";
  #begun = false;

  /** True once the arguments have the form of a custom tool's. */
  get begun(): boolean {
    return this.#begun;
  }

  /** The part of the input that the next piece completes. */
  push(piece: string): string {
    this.#rest += piece;
    if (!this.#begun) {
      const head = HEAD.exec(this.#rest);
      if (head === null) return "";
      this.#begun = true;
      this.#rest = this.#rest.slice(head[0].length);
    }
    const whole = WHOLE.exec(this.#rest)?.[0] ?? "";
    this.#rest = this.#rest.slice(whole.length);
    return unescaped(whole);
  }
}

/** Control characters stand in the text of models that escape none. */
function unescaped(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON has no unescaped ones
  const valid = text.replace(/[\u0000-\u001f]/g, (char) => JSON.stringify(char).slice(1, -1));
  return JSON.parse(`"${valid}"`);
}
