/** A schema that can't be enforced, or is none. */
export class UnsupportedSchema extends Error {
  override readonly name = "UnsupportedSchema";
  /** Null where the schema as a whole is at fault. */
  readonly keyword: string | null;
  /** Keys from the schema's root to the keyword. */
  readonly path: readonly (string | number)[];

  /** `reason` goes on where "Unsupported value: 'keyword':" ends. */
  constructor(path: readonly (string | number)[], reason: string) {
    super(reason);
    this.path = path;
    this.keyword = path.findLast((key) => typeof key === "string") ?? null;
  }
}

/** What schemas take together is too large. */
export class GrammarTooLarge extends UnsupportedSchema {
  constructor() {
    super([], "the grammar that it takes is too large.");
  }
}
