import { isEqual, order } from "../values/comparison.ts";
import {
  integer,
  isMapping,
  iterated,
  type Key,
  keyOf,
  keyValue,
  type ListValue,
  list,
  type MapValue,
  mapping,
  nameOf,
  none,
  tuple,
  type Value,
} from "../values/values.ts";
import type { Arguments } from "./arguments.ts";

/** Items of an extended list: more than a prompt's messages have. */
const LONGEST_LIST = 1_000_000;

type ListMethod = (subject: ListValue, args: Arguments) => Value;
type MapMethod = (subject: MapValue, args: Arguments) => Value;

/** Methods of Python's list; those that change it do so, as in llama-server. */
export const LIST_METHODS: ReadonlyMap<string, ListMethod> = new Map<string, ListMethod>([
  ["append", ({ value }, args) => done(value.push(args.required(0, "object")))],
  ["extend", ({ value }, args) => done(extend(value, iterated(args.required(0, "iterable"))))],
  ["insert", ({ value }, args) => done(value.splice(args.integer(0, "index") ?? 0, 0, args.required(1, "object")))],
  ["pop", ({ value }, args) => item(value.splice(args.integer(0, "index") ?? -1, 1)[0])],
  ["remove", ({ value }, args) => done(value.splice(position(value, args.required(0, "value")), 1))],
  ["clear", ({ value }) => done(value.splice(0))],
  ["copy", ({ value }) => list([...value])],
  ["reverse", ({ value }) => done(value.reverse())],
  ["sort", ({ value }) => done(value.sort(order))],
  ["index", ({ value }, args) => integer(position(value, args.required(0, "value")))],
  ["count", ({ value }, args) => integer(value.filter((one) => isEqual(one, args.required(0, "value"))).length)],
]);

/** Methods of Python's dict. */
export const MAP_METHODS: ReadonlyMap<string, MapMethod> = new Map<string, MapMethod>([
  ["get", ({ value }, args) => value.get(key(args)) ?? args.at(1, "default") ?? none()],
  ["items", ({ value }) => list([...value].map(([name, member]) => tuple([keyValue(name), member])))],
  ["keys", ({ value }) => list([...value.keys()].map(keyValue))],
  ["values", ({ value }) => list([...value.values()])],
  ["copy", ({ value }) => mapping(new Map(value))],
  ["clear", ({ value }) => done(value.clear())],
  [
    "pop",
    ({ value }, args) => {
      const member = value.get(key(args)) ?? args.at(1, "default");
      value.delete(key(args));
      return item(member);
    },
  ],
  [
    "setdefault",
    ({ value }, args) => {
      const name = key(args);
      if (!value.has(name)) value.set(name, args.at(1, "default") ?? none());
      return value.get(name)!;
    },
  ],
  ["update", ({ value }, args) => done(members(args).forEach(([name, member]) => void value.set(name, member)))],
]);

/** The members that the arguments of `dict()` and `update()` give. */
export function members(args: Arguments): [Key, Value][] {
  const [given] = args.positional;
  if (given === undefined) return [...args.named];
  const first = isMapping(given)
    ? [...given.value]
    : iterated(given).map((pair): [Key, Value] => {
        const [name, member] = iterated(pair);
        const key = name === undefined ? undefined : keyOf(name);
        if (key === undefined || member === undefined) throw new Error("a pair is needed");
        return [key, member];
      });
  return [...first, ...args.named];
}

/** @throws Error for a list that becomes too long: one that is extended by itself grows without bound in few steps */
function extend(value: Value[], items: readonly Value[]): void {
  if (value.length + items.length > LONGEST_LIST) throw new Error(`a list of more than ${LONGEST_LIST} items`);
  for (const one of [...items]) value.push(one);
}

function done(_result: unknown): Value {
  return none();
}

function item(value: Value | undefined): Value {
  if (value === undefined) throw new Error("pop() finds no such item");
  return value;
}

function position(items: readonly Value[], wanted: Value): number {
  const at = items.findIndex((one) => isEqual(one, wanted));
  if (at === -1) throw new Error("the list has no such item");
  return at;
}

function key(args: Arguments): Key {
  const given = args.required(0, "key");
  if (given.type === "UndefinedValue") return "";
  const found = keyOf(given);
  if (found === undefined) throw new Error(`${nameOf(given)} is no key`);
  return found;
}
