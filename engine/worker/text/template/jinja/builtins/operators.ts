import { contains, isEqual, order } from "../values/comparison.ts";
import { pythonText } from "../values/python-text.ts";
import { boolean, float, integer, isList, list, nameOf, numberOf, text, type Value } from "../values/values.ts";
import { formatted } from "./percent-format.ts";

/** Characters or items of a repeated value: as many as the longest prompt could have, and no more memory. */
const LONGEST_REPETITION = 1_000_000;

type Operator = (left: Value, right: Value) => Value;

/** The operators of expressions, except for `and` and `or`, with the rules of Python. */
export const OPERATORS: ReadonlyMap<string, Operator> = new Map<string, Operator>([
  ["==", (left, right) => boolean(isEqual(left, right))],
  ["!=", (left, right) => boolean(!isEqual(left, right))],
  ["<", (left, right) => boolean(order(left, right) < 0)],
  [">", (left, right) => boolean(order(left, right) > 0)],
  ["<=", (left, right) => boolean(order(left, right) <= 0)],
  [">=", (left, right) => boolean(order(left, right) >= 0)],
  ["in", (left, right) => boolean(contains(right, left))],
  ["not in", (left, right) => boolean(!contains(right, left))],
  ["~", (left, right) => text(pythonText(left) + pythonText(right))],
  ["+", added],
  ["-", (left, right) => arithmetic("-", left, right, (a, b) => a - b)],
  ["*", multiplied],
  ["/", (left, right) => divided("/", left, right, (a, b) => a / b, true)],
  ["//", (left, right) => divided("//", left, right, (a, b) => Math.floor(a / b))],
  ["%", remainder],
  ["**", (left, right) => arithmetic("**", left, right, (a, b) => a ** b, (numberOf(right) ?? 0) < 0)],
]);

function added(left: Value, right: Value): Value {
  if (left.type === "StringValue" && right.type === "StringValue") return text(left.value + right.value);
  if (isList(left) && isList(right)) return list([...left.value, ...right.value]);
  return arithmetic("+", left, right, (a, b) => a + b);
}

function multiplied(left: Value, right: Value): Value {
  const repeats = (value: Value) => value.type === "StringValue" || isList(value);
  if (repeats(right)) return repeated(right, left);
  return repeats(left) ? repeated(left, right) : arithmetic("*", left, right, (a, b) => a * b);
}

function repeated(value: Value, times: Value): Value {
  const count = times.type === "FloatValue" ? null : numberOf(times);
  if (count === null) throw unsupported("*", value, times);
  const { length } = value.value as string | Value[];
  if (length * count > LONGEST_REPETITION) throw new Error(`'*' makes more than ${LONGEST_REPETITION} items`);
  if (value.type === "StringValue") return text(value.value.repeat(Math.max(0, count)));
  return list(Array.from({ length: Math.max(0, count) }, () => value.value as Value[]).flat());
}

function remainder(left: Value, right: Value): Value {
  if (left.type === "StringValue") return text(formatted(left.value, isList(right) ? right.value : [right]));
  return divided("%", left, right, (a, b) => a - Math.floor(a / b) * b);
}

function divided(
  name: string,
  left: Value,
  right: Value,
  compute: (a: number, b: number) => number,
  isFloat = false,
): Value {
  if (numberOf(left) !== null && numberOf(right) === 0) throw new Error("division by zero");
  return arithmetic(name, left, right, compute, isFloat);
}

function arithmetic(
  name: string,
  left: Value,
  right: Value,
  compute: (a: number, b: number) => number,
  isFloat = false,
): Value {
  const [a, b] = [numberOf(left), numberOf(right)];
  if (a === null || b === null) throw unsupported(name, left, right);
  const result = compute(a, b);
  if (!Number.isFinite(result)) throw new Error(`'${name}' has no finite result`);
  return isFloat || left.type === "FloatValue" || right.type === "FloatValue" ? float(result) : integer(result);
}

function unsupported(name: string, left: Value, right: Value): Error {
  return new Error(`'${name}' is not possible between ${nameOf(left)} and ${nameOf(right)}`);
}
