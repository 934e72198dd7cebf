import { callable, isList, isMapping, keyOf, list, missing, nameOf, text, type Value } from "../values/values.ts";
import { Arguments } from "./arguments.ts";
import { LIST_METHODS, MAP_METHODS } from "./container-methods.ts";
import { TEXT_METHODS } from "./text-methods.ts";
import { memberOf } from "./value-filters.ts";

/** `object.name`: a method precedes a member of that name, as Jinja2 looks for attributes first. */
export function attribute(object: Value, name: string): Value {
  return methodOf(object, name) ?? memberOf(object, name);
}

/** `object[index]`: a member precedes a method of that name. */
export function item(object: Value, index: Value): Value {
  if (index.type === "IntegerValue" && (isList(object) || object.type === "StringValue")) {
    if (isList(object)) return object.value.at(index.value) ?? missing();
    const character = Array.from(object.value).at(index.value);
    return character === undefined ? missing() : text(character);
  }
  const key = keyOf(index);
  const member = isMapping(object) && key !== undefined ? object.value.get(key) : undefined;
  if (member !== undefined) return member;
  return index.type === "StringValue" ? attribute(object, index.value) : missing();
}

function methodOf(object: Value, name: string): Value | null {
  if (object.type === "StringValue") return bound(TEXT_METHODS.get(name), object.value);
  if (isList(object)) return bound(LIST_METHODS.get(name), object);
  return isMapping(object) ? bound(MAP_METHODS.get(name), object) : null;
}

function bound<T>(method: ((subject: T, args: Arguments) => Value) | undefined, subject: T): Value | null {
  return method === undefined ? null : callable((args) => method(subject, Arguments.of(args)));
}

/** `object[start:stop:step]`. @throws Error for an object that has no order, and for bounds that are no integers */
export function sliced(object: Value, [first, last, by]: readonly Value[]): Value {
  const step = boundary(by) ?? 1;
  if (step === 0) throw new Error("the step of a slice is 0");
  const whole = isList(object) ? object.value : object.type === "StringValue" ? Array.from(object.value) : null;
  if (whole === null) throw new Error(`${nameOf(object)} cannot be sliced`);
  const { length } = whole;
  const [low, high] = step > 0 ? [0, length] : [-1, length - 1];
  const clamped = (at: number) => Math.min(high, Math.max(low, at < 0 ? at + length : at));
  const [given, end] = [boundary(first), boundary(last)];
  const start = given === null ? (step > 0 ? low : high) : clamped(given);
  const stop = end === null ? (step > 0 ? high : low) : clamped(end);
  const part: (Value | string)[] = [];
  for (let at = start; step > 0 ? at < stop : at > stop; at += step) part.push(whole[at]!);
  return isList(object) ? list(part as Value[]) : text(part.join(""));
}

function boundary(value: Value | undefined): number | null {
  if (value === undefined || value.type === "NullValue" || value.type === "UndefinedValue") return null;
  if (value.type !== "IntegerValue") throw new Error(`the bound of a slice is ${nameOf(value)}`);
  return value.value;
}
