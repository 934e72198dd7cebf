import { isEqual } from "../values/comparison.ts";
import { boolean, callable, integer, list, mapping, missing, type Value } from "../values/values.ts";

/** The variable `loop` of one iteration. @param changes the last arguments of `loop.changed()`, of all iterations */
export function loopValue(items: readonly Value[], index: number, changes: { last: Value | null }): Value {
  const { length } = items;
  return mapping(
    new Map<string, Value>([
      ["index", integer(index + 1)],
      ["index0", integer(index)],
      ["revindex", integer(length - index)],
      ["revindex0", integer(length - index - 1)],
      ["first", boolean(index === 0)],
      ["last", boolean(index === length - 1)],
      ["length", integer(length)],
      ["previtem", items[index - 1] ?? missing()],
      ["nextitem", items[index + 1] ?? missing()],
      ["cycle", callable((args) => args[index % args.length] ?? missing())],
      ["changed", callable((args) => boolean(isChanged(list(args), changes)))],
    ]),
  );
}

function isChanged(now: Value, changes: { last: Value | null }): boolean {
  const changed = changes.last === null || !isEqual(changes.last, now);
  changes.last = now;
  return changed;
}
