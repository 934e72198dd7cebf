import { isList, isMapping, itemsOf, keyOf, nameOf, numberOf, type Value } from "./values.ts";

/** Python's `==`. Numbers and booleans are of one kind; an undefined value equals only another one. */
export function isEqual(one: Value, other: Value): boolean {
  const [a, b] = [numberOf(one), numberOf(other)];
  if (a !== null || b !== null) return a === b;
  if (isList(one)) {
    if (!isList(other) || one.value.length !== other.value.length) return false;
    return one.value.every((item, index) => isEqual(item, other.value[index]!));
  }
  if (isMapping(one)) {
    if (!isMapping(other) || one.value.size !== other.value.size) return false;
    return [...one.value].every(([key, member]) => {
      const same = other.value.get(key);
      return same !== undefined && isEqual(member, same);
    });
  }
  if (one.type !== other.type) return false;
  return one.type === "NullValue" || one.value === other.value;
}

/** Negative where the first value precedes the second. @throws Error for values without an order */
export function order(one: Value, other: Value): number {
  const [a, b] = [numberOf(one), numberOf(other)];
  if (a !== null && b !== null) return a - b;
  if (one.type === "StringValue" && other.type === "StringValue") return textOrder(one.value, other.value);
  if (isList(one) && isList(other)) {
    const at = one.value.findIndex((item, index) => index >= other.value.length || !isEqual(item, other.value[index]!));
    if (at === -1) return one.value.length - other.value.length;
    return at < other.value.length ? order(one.value[at]!, other.value[at]!) : 1;
  }
  throw new Error(`${nameOf(one)} and ${nameOf(other)} have no order`);
}

/** By code points, as in Python; JavaScript compares halves of surrogate pairs. */
function textOrder(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

/** Python's `in`. @throws Error for a container that has no members */
export function contains(container: Value, member: Value): boolean {
  if (container.type === "StringValue") {
    if (member.type !== "StringValue") throw new Error(`'in <text>' needs a text, not ${nameOf(member)}`);
    return container.value.includes(member.value);
  }
  if (isMapping(container)) {
    const key = keyOf(member);
    return key !== undefined && container.value.has(key);
  }
  const items = itemsOf(container);
  if (items === null) throw new Error(`${nameOf(container)} has no members`);
  return items.some((item) => isEqual(item, member));
}
