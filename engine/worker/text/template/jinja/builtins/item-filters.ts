import { isEqual, order } from "../values/comparison.ts";
import { pythonText } from "../values/python-text.ts";
import {
  integer,
  isMapping,
  iterated,
  keyValue,
  list,
  missing,
  nameOf,
  text,
  tuple,
  type Value,
} from "../values/values.ts";
import type { Arguments } from "./arguments.ts";
import { OPERATORS } from "./operators.ts";
import { type Filter, memberOf } from "./value-filters.ts";

/** Jinja2's filters of lists and of what else has items. */
export const ITEM_FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ["join", (operand, args) => text(joined(operand, args))],
  ["reverse", (operand) => reversed(operand)],
  ["sort", (operand, args) => list(sorted(iterated(operand), args, args.at(2, "attribute"), args.flag(0, "reverse")))],
  ["unique", unique],
  ["min", (operand, args) => sorted(iterated(operand), args, args.at(1, "attribute"), false, 0)[0] ?? missing()],
  ["max", (operand, args) => sorted(iterated(operand), args, args.at(1, "attribute"), true, 0)[0] ?? missing()],
  ["sum", sum],
  ["groupby", groups],
  ["batch", batches],
  ["dictsort", dictsort],
]);

/** The value of a path such as `function.name`, or of an index. */
export function atPath(value: Value, path: Value): Value {
  return pythonText(path).split(".").reduce(memberOf, value);
}

function joined(operand: Value, args: Arguments): string {
  const attribute = args.at(1, "attribute");
  const items = iterated(operand).map((item) => (attribute === undefined ? item : atPath(item, attribute)));
  return items.map(pythonText).join(pythonText(args.at(0, "d") ?? text("")));
}

function reversed(operand: Value): Value {
  const items = [...iterated(operand)].reverse();
  return operand.type === "StringValue" ? text(items.map(pythonText).join("")) : list(items);
}

function sorted(
  items: readonly Value[],
  args: Arguments,
  attribute: Value | undefined,
  descending: boolean,
  caseIndex = 1,
): Value[] {
  const isSensitive = args.flag(caseIndex, "case_sensitive");
  const keyed = items.map((item) => {
    const key = attribute === undefined || attribute.type === "NullValue" ? item : atPath(item, attribute);
    return { item, key: isSensitive ? key : folded(key) };
  });
  keyed.sort((one, other) => (descending ? order(other.key, one.key) : order(one.key, other.key)));
  return keyed.map(({ item }) => item);
}

function folded(value: Value): Value {
  return value.type === "StringValue" ? text(value.value.toLowerCase()) : value;
}

function unique(operand: Value, args: Arguments): Value {
  const [isSensitive, attribute] = [args.flag(0, "case_sensitive"), args.at(1, "attribute")];
  const seen: Value[] = [];
  const texts = new Set<string>();
  return list(
    iterated(operand).filter((item) => {
      const value = attribute === undefined ? item : atPath(item, attribute);
      const key = isSensitive ? value : folded(value);
      if (key.type === "StringValue") return texts.has(key.value) ? false : texts.add(key.value);
      return seen.some((one) => isEqual(one, key)) ? false : seen.push(key);
    }),
  );
}

function sum(operand: Value, args: Arguments): Value {
  const attribute = args.at(0, "attribute");
  const plus = OPERATORS.get("+")!;
  return iterated(operand)
    .map((item) => (attribute === undefined || attribute.type === "NullValue" ? item : atPath(item, attribute)))
    .reduce((total, item) => plus(total, item), args.at(1, "start") ?? integer(0));
}

function groups(operand: Value, args: Arguments): Value {
  const attribute = args.required(0, "attribute");
  const found: { grouper: Value; items: Value[] }[] = [];
  for (const item of sorted(iterated(operand), args, attribute, false, 2)) {
    const grouper = atPath(item, attribute);
    const last = found.at(-1);
    if (last !== undefined && isEqual(folded(last.grouper), folded(grouper))) last.items.push(item);
    else found.push({ grouper, items: [item] });
  }
  return list(found.map(({ grouper, items }) => tuple([grouper, list(items)])));
}

function batches(operand: Value, args: Arguments): Value {
  const size = args.integer(0, "linecount") ?? 0;
  if (size < 1) throw new Error("batch() needs a count");
  const items = iterated(operand);
  const rows = Array.from({ length: Math.ceil(items.length / size) }, (_, index) => {
    return list(items.slice(index * size, (index + 1) * size));
  });
  return list(rows);
}

function dictsort(operand: Value, args: Arguments): Value {
  if (!isMapping(operand)) throw new Error(`dictsort needs a dictionary, not ${nameOf(operand)}`);
  const pairs = [...operand.value].map(([key, member]) => tuple([keyValue(key), member]));
  const by = args.text(1, "by") === "value" ? 1 : 0;
  return list(sorted(pairs, args, integer(by), args.flag(2, "reverse"), 0));
}
