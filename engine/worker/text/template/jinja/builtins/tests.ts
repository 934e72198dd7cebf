import { contains, isEqual, order } from "../values/comparison.ts";
import { pythonText } from "../values/python-text.ts";
import { isList, isMapping, itemsOf, numberOf, type Value } from "../values/values.ts";
import type { Arguments } from "./arguments.ts";

export type Test = (operand: Value, args: Arguments) => boolean;

const COMPARISONS: [names: string[], holds: Test][] = [
  [["eq", "equalto", "=="], (operand, args) => isEqual(operand, args.required(0, "other"))],
  [["ne", "!="], (operand, args) => !isEqual(operand, args.required(0, "other"))],
  [["lt", "lessthan", "<"], (operand, args) => order(operand, args.required(0, "other")) < 0],
  [["le", "<="], (operand, args) => order(operand, args.required(0, "other")) <= 0],
  [["gt", "greaterthan", ">"], (operand, args) => order(operand, args.required(0, "other")) > 0],
  [["ge", ">="], (operand, args) => order(operand, args.required(0, "other")) >= 0],
];

/** Jinja2's tests. */
export const TESTS: ReadonlyMap<string, Test> = new Map<string, Test>([
  ...COMPARISONS.flatMap(([names, holds]) => names.map((name): [string, Test] => [name, holds])),
  ["defined", ({ type }) => type !== "UndefinedValue"],
  ["undefined", ({ type }) => type === "UndefinedValue"],
  ["none", ({ type }) => type === "NullValue"],
  ["boolean", ({ type }) => type === "BooleanValue"],
  ["true", ({ value }) => value === true],
  ["false", ({ value }) => value === false],
  ["string", ({ type }) => type === "StringValue"],
  ["number", (operand) => numberOf(operand) !== null],
  ["integer", ({ type }) => type === "IntegerValue"],
  ["float", ({ type }) => type === "FloatValue"],
  ["mapping", isMapping],
  ["iterable", (operand) => itemsOf(operand) !== null],
  ["sequence", (operand) => itemsOf(operand) !== null],
  ["callable", ({ type }) => type === "FunctionValue"],
  ["sameas", (operand, args) => isSame(operand, args.required(0, "other"))],
  ["in", (operand, args) => contains(args.required(0, "seq"), operand)],
  ["odd", (operand) => Math.abs((numberOf(operand) ?? 0) % 2) === 1],
  ["even", (operand) => (numberOf(operand) ?? 1) % 2 === 0],
  ["divisibleby", (operand, args) => (numberOf(operand) ?? 1) % (numberOf(args.required(0, "num")) ?? 0) === 0],
  [
    "lower",
    (operand) => /\p{Ll}/u.test(pythonText(operand)) && pythonText(operand) === pythonText(operand).toLowerCase(),
  ],
  [
    "upper",
    (operand) => /\p{Lu}/u.test(pythonText(operand)) && pythonText(operand) === pythonText(operand).toUpperCase(),
  ],
]);

/** Texts and numbers are one object where they are equal, as short ones are in Python. */
function isSame(one: Value, other: Value): boolean {
  return isList(one) || isMapping(one) ? one === other : one.type === other.type && isEqual(one, other);
}

/** @throws Error for a test that Jinja2 does not have */
export function tested(name: string, operand: Value, args: Arguments): boolean {
  const test = TESTS.get(name);
  if (test === undefined) throw new Error(`no test is named '${name}'`);
  return test(operand, args);
}
