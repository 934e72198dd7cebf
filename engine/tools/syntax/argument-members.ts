/** Passes on arguments that are written one by one as the members of a JSON object. */
export class ArgumentMembers {
  readonly #pass: (text: string) => void;
  #any = false;

  constructor(pass: (text: string) => void) {
    this.#pass = pass;
  }

  /** Begins a member; its value follows. */
  key(key: string): void {
    this.#pass(`${this.#any ? ", " : "{"}${JSON.stringify(key)}: `);
    this.#any = true;
  }

  end(): void {
    this.#pass(this.#any ? "}" : "{}");
  }
}
