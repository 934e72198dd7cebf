import { isTrue, iterated, list, missing, nameOf, type Value } from "../values/values.ts";
import { Arguments } from "./arguments.ts";
import { atPath, ITEM_FILTERS } from "./item-filters.ts";
import { tested } from "./tests.ts";
import { VALUE_FILTERS } from "./value-filters.ts";

/** Applies a filter by its name. @throws Error for one that Jinja2 does not have, or that this engine leaves out */
export function filtered(name: string, operand: Value, args: Arguments): Value {
  const filter = VALUE_FILTERS.get(name) ?? ITEM_FILTERS.get(name);
  if (filter !== undefined) return filter(operand, args);
  switch (name) {
    case "map":
      return mapped(operand, args);
    case "select":
    case "reject":
      return list(itemsIn(operand).filter((item) => holds(item, args) === (name === "select")));
    case "selectattr":
    case "rejectattr": {
      const [path, ...rest] = args.positional;
      if (path === undefined) throw new Error(`${name}() needs an attribute`);
      const others = new Arguments(rest);
      return list(itemsIn(operand).filter((item) => holds(atPath(item, path), others) === (name === "selectattr")));
    }
    default:
      throw new Error(`no filter is named '${name}'`);
  }
}

/** The items of a value; of one that is false, such as none, there are none. */
function itemsIn(operand: Value): Value[] {
  return isTrue(operand) ? iterated(operand) : [];
}

function mapped(operand: Value, args: Arguments): Value {
  const attribute = args.named.get("attribute");
  const [name, ...rest] = args.positional;
  if (attribute !== undefined) {
    const by = args.named.get("default") ?? missing();
    const found = (item: Value) => atPath(item, attribute);
    return list(itemsIn(operand).map((item) => (found(item).type === "UndefinedValue" ? by : found(item))));
  }
  if (name?.type !== "StringValue") throw new Error("map() needs the name of a filter");
  const others = new Arguments(rest);
  return list(itemsIn(operand).map((item) => filtered(name.value, item, others)));
}

function holds(item: Value, args: Arguments): boolean {
  const [name, ...rest] = args.positional;
  if (name === undefined) return isTrue(item);
  if (name.type !== "StringValue") throw new Error(`a test's name is needed, not ${nameOf(name)}`);
  return tested(name.value, item, new Arguments(rest));
}
