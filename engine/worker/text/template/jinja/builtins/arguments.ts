import { isTrue, type Key, nameOf, type Value } from "../values/values.ts";

/** The arguments of a call, by position or by name. */
export class Arguments {
  readonly positional: readonly Value[];
  readonly named: ReadonlyMap<Key, Value>;

  constructor(positional: readonly Value[], named: ReadonlyMap<Key, Value> = new Map()) {
    this.positional = positional;
    this.named = named;
  }

  /** The arguments of a function of the interpreter: those with names come last, as one mapping. */
  static of(args: readonly Value[]): Arguments {
    const last = args.at(-1);
    return last?.type === "KeywordArgumentsValue" ? new Arguments(args.slice(0, -1), last.value) : new Arguments(args);
  }

  at(index: number, name: string): Value | undefined {
    return this.positional[index] ?? this.named.get(name);
  }

  /** Null where it is not given, or none. @throws Error for another type */
  text(index: number, name: string): string | null {
    const value = this.at(index, name);
    if (value === undefined || value.type === "NullValue") return null;
    if (value.type !== "StringValue") throw new Error(`'${name}' must be a text, not ${nameOf(value)}`);
    return value.value;
  }

  /** Null where it is not given, or none. @throws Error for another type */
  integer(index: number, name: string): number | null {
    const value = this.at(index, name);
    if (value === undefined || value.type === "NullValue") return null;
    if (value.type !== "IntegerValue") throw new Error(`'${name}' must be an integer, not ${nameOf(value)}`);
    return value.value;
  }

  flag(index: number, name: string): boolean {
    const value = this.at(index, name);
    return value !== undefined && isTrue(value);
  }

  /** @throws Error where it is not given */
  required(index: number, name: string): Value {
    const value = this.at(index, name);
    if (value === undefined) throw new Error(`the argument '${name}' is missing`);
    return value;
  }
}
