import { Environment, Interpreter } from "@huggingface/jinja";

/** A value of the package's interpreter. Keys of mappings are texts, numbers for dictionaries that the template writes. */
export type Value =
  | { type: "StringValue"; value: string }
  | { type: "IntegerValue" | "FloatValue"; value: number }
  | { type: "BooleanValue"; value: boolean }
  | { type: "NullValue"; value: null | undefined }
  | { type: "UndefinedValue"; value: undefined }
  | ListValue
  | MapValue
  | { type: "NamespaceValue"; value: Map<Key, Value> }
  | FunctionValue;

export type ListValue = { type: "ArrayValue" | "TupleValue"; value: Value[] };
export type MapValue = { type: "ObjectValue" | "KeywordArgumentsValue"; value: Map<Key, Value> };
export type FunctionValue = { type: "FunctionValue"; value: (args: Value[], scope: Scope) => Value };
export type Key = string | number | boolean | null;

/** The variables of a block, with those of the blocks around it. */
export interface Scope {
  variables: Map<string, Value>;
  lookupVariable(name: string): Value;
  setVariable(name: string, value: Value): Value;
}

/** The package exports no classes of values, but makes values of plain ones. */
function classOf(sample: unknown): new (value: unknown) => Value {
  const environment = new Environment();
  environment.set("sample", sample);
  return (environment.lookupVariable("sample") as object).constructor as new (
    value: unknown,
  ) => Value;
}

/** No plain value becomes a tuple, but its literal does. */
function tupleClass(): new (value: unknown) => Value {
  const literal = { type: "TupleLiteral", value: [] } as unknown as Parameters<Interpreter["evaluate"]>[0];
  return (new Interpreter().evaluate(literal, new Environment()) as object).constructor as new (
    value: unknown,
  ) => Value;
}

const Classes = {
  text: classOf(""),
  integer: classOf(1),
  float: classOf(0.5),
  boolean: classOf(true),
  none: classOf(null),
  undefined: classOf(undefined),
  list: classOf([]),
  tuple: tupleClass(),
  mapping: classOf({}),
  function: classOf(() => null),
};

export const text = (value: string): Value => new Classes.text(value);
export const integer = (value: number): Value => new Classes.integer(value);
export const float = (value: number): Value => new Classes.float(value);
export const boolean = (value: boolean): Value => new Classes.boolean(value);
export const none = (): Value => new Classes.none(null);
export const missing = (): Value => new Classes.undefined(undefined);
export const list = (value: Value[]): Value => new Classes.list(value);
export const tuple = (value: Value[]): Value => new Classes.tuple(value);
export const mapping = (value: Map<Key, Value>): Value => new Classes.mapping(value);
export const callable = (value: FunctionValue["value"]): Value => new Classes.function(value);

/** A scope within another. */
export function scopeIn(parent: Scope): Scope {
  return new Environment(parent as Environment) as Scope;
}

export function keyValue(key: Key): Value {
  if (typeof key === "string") return text(key);
  if (typeof key === "number") return Number.isInteger(key) ? integer(key) : float(key);
  return key === null ? none() : boolean(key);
}

export function isList(value: Value): value is ListValue {
  return value.type === "ArrayValue" || value.type === "TupleValue";
}

/** True for a dictionary; a namespace is none. */
export function isMapping(value: Value): value is MapValue {
  return value.type === "ObjectValue" || value.type === "KeywordArgumentsValue";
}

/** The number of an integer, a float or a boolean, as in Python; else null. */
export function numberOf(value: Value): number | null {
  if (value.type === "IntegerValue" || value.type === "FloatValue") return value.value;
  return value.type === "BooleanValue" ? Number(value.value) : null;
}

export function isTrue(value: Value): boolean {
  if (isList(value)) return value.value.length > 0;
  if (isMapping(value)) return value.value.size > 0;
  return value.type === "FunctionValue" || value.type === "NamespaceValue" || Boolean(value.value);
}

/** The key of a dictionary that a value is; undefined for a value that is none. */
export function keyOf(value: Value): Key | undefined {
  if (value.type === "NullValue") return null;
  const isKey = value.type === "StringValue" || value.type === "BooleanValue" || numberOf(value) !== null;
  return isKey ? (value.value as Key) : undefined;
}

/** The items over which a loop or a filter runs; null for a value that has none. */
export function itemsOf(value: Value): Value[] | null {
  if (isList(value)) return value.value;
  if (isMapping(value)) return [...value.value.keys()].map(keyValue);
  if (value.type === "StringValue") return Array.from(value.value, text);
  return value.type === "UndefinedValue" ? [] : null;
}

/** @throws Error for a value that cannot be iterated */
export function iterated(value: Value): Value[] {
  const items = itemsOf(value);
  if (items === null) throw new Error(`${nameOf(value)} is not iterable`);
  return items;
}

const NAMES: Record<Value["type"], string> = {
  StringValue: "a text",
  IntegerValue: "an integer",
  FloatValue: "a float",
  BooleanValue: "a boolean",
  NullValue: "none",
  UndefinedValue: "an undefined value",
  ArrayValue: "a list",
  TupleValue: "a tuple",
  ObjectValue: "a dictionary",
  NamespaceValue: "a namespace",
  KeywordArgumentsValue: "a dictionary",
  FunctionValue: "a function",
};

/** The type of a value, for messages. */
export function nameOf(value: Value): string {
  return NAMES[value.type];
}
