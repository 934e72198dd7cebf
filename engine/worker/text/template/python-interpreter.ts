import { Environment, Interpreter } from "@huggingface/jinja";

export interface Value {
  value: unknown;
}

export interface Node {
  type: string;
}

/** The used members of the package's interpreter, whose own types TypeScript does not find. */
const PlainInterpreter: new (
  environment: Environment,
) => {
  run(program: unknown): Value;
  evaluate(node: Node | undefined, scope: unknown): Value;
  evaluateBlock(nodes: Node[], scope: unknown): Value;
  applyFilter(operand: Value, filter: Node, scope: unknown): Value;
} = Interpreter;

type Method = (object: Value, args: Value[]) => Value | null;

/** Methods of Python that chat templates call and the package lacks; null where the object has no such method. */
const METHODS = new Map<string, Method>([
  [
    "append",
    ({ value }, [item]) => {
      if (!Array.isArray(value) || item === undefined) return null;
      value.push(item);
      return made(null);
    },
  ],
  [
    "pop",
    ({ value }, [index]) => {
      if (!Array.isArray(value)) return null;
      const at = typeof index?.value === "number" ? index.value : -1;
      const [item] = value.splice(at, 1) as Value[];
      if (item === undefined) throw new Error("pop() from a list without this item");
      return item;
    },
  ],
  [
    "format",
    ({ value }, args) => {
      if (typeof value !== "string") return null;
      const rest = [...args];
      return made(value.replace(/\{\}/g, () => String(rest.shift()?.value ?? "")));
    },
  ],
]);

/** In Jinja2 a value that is not defined is an empty text for these filters. */
const TEXT_FILTERS = ["string", "trim", "upper", "lower", "title", "capitalize"];

/** Filters that the package lacks for some types; null where it has them. */
const FILTERS = new Map<string, (operand: Value) => Value | null>([
  ...TEXT_FILTERS.map((name): [string, (operand: Value) => Value | null] => [
    name,
    ({ value }) => (value === undefined ? made("") : name === "string" ? containerText(value) : null),
  ]),
  ["min", ({ value }) => extreme(value, (one, other) => one < other)],
  ["max", ({ value }) => extreme(value, (one, other) => one > other)],
]);

/** The interpreter with parts of Python and Jinja2 that published chat templates use and the package has not. */
export class PythonInterpreter extends PlainInterpreter {
  readonly #numbered = new WeakSet<object>();

  override evaluate(node: Node | undefined, scope: unknown): Value {
    if (node === undefined) return super.evaluate(node, scope);
    if (isMethodCall(node)) {
      const method = METHODS.get(node.callee.property.value);
      const args = node.args.map((argument) => this.evaluate(argument, scope));
      const result = method?.(this.evaluate(node.callee.object, scope), args);
      if (result) return result;
    } else if (isFilter(node)) {
      const operand = this.evaluate(node.operand, scope);
      const { value: name = "" } = node.filter;
      return FILTERS.get(name)?.(operand) ?? this.#filtered(operand, node.filter, scope);
    } else if (isIndex(node)) {
      const { value } = this.evaluate(node.object, scope);
      const item: unknown = value instanceof Map ? value.get(String(node.property.value)) : undefined;
      if (item !== undefined) return item as Value;
    }
    const result = super.evaluate(node, scope);
    if ("numbered" in node) this.#numbered.add(result);
    return result;
  }

  /** A dictionary with numbers for keys is sorted by these, which are numbers again. */
  #filtered(operand: Value, filter: { type: string; value?: string }, scope: unknown): Value {
    const result = this.applyFilter(operand, filter, scope);
    if (filter.value !== "dictsort" || !this.#numbered.has(operand) || !Array.isArray(result.value)) return result;
    const pairs = result.value as { value: Value[] }[];
    for (const { value: pair } of pairs) pair[0] = made(Number(pair[0]!.value));
    pairs.sort(({ value: [one] }, { value: [other] }) => Number(one!.value) - Number(other!.value));
    return result;
  }
}

/** Changes a parsed program so that dictionaries may have integers for keys, which are kept as text. */
export function withNumericKeys(node: unknown): void {
  if (typeof node !== "object" || node === null) return;
  if ("type" in node && node.type === "ObjectLiteral" && "value" in node && node.value instanceof Map) {
    for (const key of node.value.keys() as Iterable<{ type: string; value: unknown }>) {
      if (key.type !== "IntegerLiteral") continue;
      Object.assign(key, { type: "StringLiteral", value: String(key.value) });
      Object.assign(node, { numbered: true });
    }
  }
  for (const child of node instanceof Map ? [...node].flat() : Object.values(node)) withNumericKeys(child);
}

function isMethodCall(
  node: Node,
): node is Node & { args: Node[]; callee: { object: Node; property: { value: string } } } {
  if (node.type !== "CallExpression" || !("callee" in node)) return false;
  const { callee } = node as { callee: Node & { computed?: boolean; property?: { value?: unknown } } };
  const name = callee.property?.value;
  return callee.type === "MemberExpression" && !callee.computed && typeof name === "string" && METHODS.has(name);
}

function isFilter(node: Node): node is Node & { operand: Node; filter: { type: string; value?: string } } {
  return node.type === "FilterExpression";
}

/** True for `object[1]`. */
function isIndex(node: Node): node is Node & { object: Node; property: { value: number } } {
  if (node.type !== "MemberExpression") return false;
  const { computed, property } = node as { computed?: boolean; property?: Node };
  return computed === true && property?.type === "IntegerLiteral";
}

function containerText(value: unknown): Value | null {
  return Array.isArray(value) || value instanceof Map ? made(pythonText(value)) : null;
}

function extreme(list: unknown, precedes: (one: number, other: number) => boolean): Value | null {
  if (!Array.isArray(list) || list.length === 0) return null;
  return (list as Value[]).reduce((best, item) => (precedes(Number(item.value), Number(best.value)) ? item : best));
}

function made(value: string | number | null): Value {
  const environment = new Environment();
  environment.set("value", value);
  return environment.lookupVariable("value");
}

/** The text that Python's str() gives for the inside of a value. */
function pythonText(value: unknown): string {
  if (Array.isArray(value)) return `[${(value as Value[]).map((item) => pythonText(item.value)).join(", ")}]`;
  if (value instanceof Map) {
    const entries = [...(value as Map<string, Value>)].map(
      ([key, item]) => `${quoted(key)}: ${pythonText(item.value)}`,
    );
    return `{${entries.join(", ")}}`;
  }
  if (typeof value === "string") return quoted(value);
  if (typeof value === "boolean") return value ? "True" : "False";
  return value === null || value === undefined ? "None" : String(value);
}

function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const inside = text.replace(/[\\\n\r\t]/g, (character) => JSON.stringify(character).slice(1, -1));
  return quote + inside.replaceAll(quote, `\\${quote}`) + quote;
}
