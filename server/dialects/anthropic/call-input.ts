/** The input of a whole call, which is an object. Text that is none is in a field of one. */
export function inputOf(text: string): Record<string, unknown> {
  if (text === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // The answer was cut, or the model wrote no JSON.
  }
  return raw(text);
}

function raw(text: string) {
  return { _raw: text };
}

/**
 * Passes on the pieces of a call's input. Text that does not begin as an object is held to its end, and written as one then:
 * SDKs throw at the end of a call whose input is another value, half of it, or no JSON.
 */
export class InputPieces {
  #held = "";
  #begun = false;

  push(piece: string): string {
    if (this.#begun) return piece;
    this.#held += piece;
    this.#begun = this.#held.trimStart().startsWith("{");
    if (!this.#begun) return "";
    const text = this.#held;
    this.#held = "";
    return text;
  }

  /** The rest, at the end of the call. */
  end(): string {
    return this.#held === "" ? "" : JSON.stringify(raw(this.#held));
  }
}
