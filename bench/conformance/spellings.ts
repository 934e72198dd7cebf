import { isSchemaObject } from "../../grammar/schema/keywords.ts";

/** Most spellings of one value: all orders of the members of an object of five, or of two objects of three. */
const MOST = 120;

/** The compact JSON texts of a value with the members of its objects in different orders, the given order first. */
export function spellings(value: unknown): string[] {
  if (Array.isArray(value)) return combinations(value.map(spellings)).map((items) => `[${items.join()}]`);
  if (!isSchemaObject(value)) return [JSON.stringify(value)];
  return orders(Object.entries(value))
    .flatMap((members) => {
      const texts = members.map(([name, member]) => spellings(member).map((text) => `${JSON.stringify(name)}:${text}`));
      return combinations(texts).map((parts) => `{${parts.join()}}`);
    })
    .slice(0, MOST);
}

/** One of each list, in all ways up to the bound. */
function combinations(lists: readonly (readonly string[])[]): string[][] {
  let chosen: string[][] = [[]];
  for (const list of lists) chosen = chosen.flatMap((before) => list.map((one) => [...before, one])).slice(0, MOST);
  return chosen;
}

/** The permutations of a list up to the bound, the given order first. */
function orders<T>(list: readonly T[]): T[][] {
  if (list.length <= 1) return [[...list]];
  const found: T[][] = [];
  for (let i = 0; i < list.length && found.length < MOST; i++) {
    const rest = [...list.slice(0, i), ...list.slice(i + 1)];
    for (const tail of orders(rest)) found.push([list[i]!, ...tail]);
  }
  return found.slice(0, MOST);
}
