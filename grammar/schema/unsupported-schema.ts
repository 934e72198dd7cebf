/** A schema that cannot be enforced, or is not valid. */
export class UnsupportedSchema extends Error {
  override readonly name: string = "UnsupportedSchema";
  /** Null if the whole schema is at fault. */
  readonly keyword: string | null;
  /** Keys from the schema's root to the keyword. */
  readonly path: readonly (string | number)[];

  /** @param reason follows "Unsupported value: 'keyword':" in the message */
  constructor(path: readonly (string | number)[], reason: string) {
    super(reason);
    this.path = path;
    this.keyword = path.findLast((key) => typeof key === "string") ?? null;
  }
}

/** A schema that no value matches. Within a choice it is left out. */
export class NoValue extends UnsupportedSchema {
  override readonly name = "NoValue";
}

/** The grammar of one or more schemas is too large, or takes too much work. */
export class GrammarTooLarge extends UnsupportedSchema {
  constructor() {
    super([], "its grammar is too large, or takes too long to make.");
  }
}
