import { FORMATS } from "../language/formats.ts";
import { isMultiple } from "../language/multiples.ts";
import { Nfa } from "../language/nfa.ts";
import type { Work } from "../language/work.ts";
import { followed } from "./expansion.ts";
import { bound, count } from "./keyword-numbers.ts";
import {
  assertions,
  isSchemaObject,
  type JsonSchema,
  type SchemaObject,
  type SchemaPath,
  UNENFORCEABLE,
} from "./keywords.ts";
import { type Clause, type Part, part, within } from "./part.ts";
import { enforceable, patternTexts } from "./pattern-texts.ts";
import { nameList, schemaList, schemaMap } from "./schema-lists.ts";
import { UnsupportedSchema } from "./unsupported-schema.ts";
import { canonical, isOneOf, namedTypes } from "./value-type.ts";

/** Keywords of a combination, whose annotations this check does not collect. */
const UNCHECKED = ["unevaluatedItems", "unevaluatedProperties"];

/** Units of work for one schema, without its texts. */
const SCHEMA = 3;

/** Checks values that a schema lists, or names of properties, against schemas. */
export class InstanceCheck {
  readonly #root: JsonSchema;
  readonly #work: Work;
  /** By right-hand side: the values of a list mostly concern one pattern. */
  readonly #texts = new Map<string, Nfa>();
  readonly #lists = new WeakMap<readonly unknown[], ReadonlySet<string>>();

  constructor(root: JsonSchema, work: Work) {
    this.#root = root;
    this.#work = work;
  }

  /** True for a value that matches. @throws UnsupportedSchema for a keyword that is not checked */
  matches(value: unknown, one: Part): boolean {
    const { schema, path } = one;
    this.#work.spend(SCHEMA);
    if (typeof schema === "boolean") return schema;
    if (!isSchemaObject(schema)) throw new UnsupportedSchema(path, "expected an object or a boolean.");
    const refused = assertions(schema).find((keyword) => UNENFORCEABLE.has(keyword) || UNCHECKED.includes(keyword));
    if (refused !== undefined) throw new UnsupportedSchema([...path, refused], "it cannot be enforced.");
    const clause = { ...one, schema };
    if (!this.#any(value, clause)) return false;
    if (typeof value === "string") return this.#text(value, clause);
    if (typeof value === "number") return matchesNumber(value, clause);
    if (Array.isArray(value)) return this.#array(value, clause);
    return !isSchemaObject(value) || this.#object(value, clause);
  }

  #any(value: unknown, clause: Clause): boolean {
    const { schema, path } = clause;
    const on = (inner: unknown, at = path) => this.matches(value, within(clause, inner, at));
    const list = (keyword: string) => schemaList(schema, keyword, path).filter(([inner, at]) => on(inner, at)).length;
    const types = namedTypes(schema, path);
    if (types !== null && !isOneOf(value, types)) return false;
    const text = canonical(value);
    if (schema.const !== undefined && canonical(schema.const) !== text) return false;
    if (Array.isArray(schema.enum) && !this.#listed(schema.enum).has(text)) return false;
    if (schema.$ref !== undefined && !this.matches(value, followed(this.#root, schema.$ref, clause))) return false;
    if (schema.allOf !== undefined && list("allOf") !== schemaList(schema, "allOf", path).length) return false;
    if (schema.anyOf !== undefined && list("anyOf") === 0) return false;
    if (schema.oneOf !== undefined && list("oneOf") !== 1) return false;
    if (schema.not !== undefined && on(schema.not, [...path, "not"])) return false;
    if (schema.if === undefined) return true;
    const branch = on(schema.if, [...path, "if"]) ? "then" : "else";
    return schema[branch] === undefined || on(schema[branch], [...path, branch]);
  }

  /** The values of a list as canonical texts. */
  #listed(list: readonly unknown[]): ReadonlySet<string> {
    const known = this.#lists.get(list) ?? new Set(list.map(canonical));
    this.#lists.set(list, known);
    return known;
  }

  #array(items: readonly unknown[], { schema, path }: Clause): boolean {
    if (items.length < (count(schema, "minItems", path) ?? 0)) return false;
    if (items.length > (count(schema, "maxItems", path) ?? Infinity)) return false;
    if (schema.uniqueItems === true && new Set(items.map(canonical)).size < items.length) return false;
    const legacy = Array.isArray(schema.items);
    const first = schemaList(schema, legacy ? "items" : "prefixItems", path);
    const rest = (legacy ? schema.additionalItems : schema.items) ?? true;
    const fit = items.every((item, i) => {
      const [inner, at] = first[i] ?? [rest, [...path, legacy ? "additionalItems" : "items"]];
      return this.matches(item, part(inner, at));
    });
    if (!fit || schema.contains === undefined) return fit;
    const found = items.filter((item) => this.matches(item, part(schema.contains, [...path, "contains"]))).length;
    return (
      found >= (count(schema, "minContains", path) ?? 1) && found <= (count(schema, "maxContains", path) ?? Infinity)
    );
  }

  #object(value: SchemaObject, clause: Clause): boolean {
    const { schema, path } = clause;
    const names = Object.keys(value);
    if (names.length < (count(schema, "minProperties", path) ?? 0)) return false;
    if (names.length > (count(schema, "maxProperties", path) ?? Infinity)) return false;
    if (nameList(schema.required, [...path, "required"]).some((name) => !Object.hasOwn(value, name))) return false;
    const known = schemaMap(schema, "properties", path);
    const patterns = schemaMap(schema, "patternProperties", path);
    const fit = names.every((name) => {
      const named = known.filter(([key]) => key === name);
      const matched = patterns.filter(([pattern, , at]) => this.#has(patternTexts(pattern, at), name, at));
      const all = [...named, ...matched];
      if (all.length === 0) all.push([name, schema.additionalProperties ?? true, [...path, "additionalProperties"]]);
      const allowed = part(schema.propertyNames ?? true, [...path, "propertyNames"]);
      return this.matches(name, allowed) && all.every(([, inner, at]) => this.matches(value[name], part(inner, at)));
    });
    return fit && this.#dependencies(value, clause);
  }

  #text(text: string, { schema, path }: Clause): boolean {
    const { pattern } = schema;
    const length = [...text].length;
    if (length < (count(schema, "minLength", path) ?? 0)) return false;
    if (length > (count(schema, "maxLength", path) ?? Infinity)) return false;
    const at = [...path, "pattern"];
    if (pattern !== undefined && !this.#has(patternTexts(pattern, at), text, at)) return false;
    const format = typeof schema.format === "string" ? FORMATS.get(schema.format) : undefined;
    return format === undefined || this.#has(format, text, [...path, "format"]);
  }

  /** True for a text of this right-hand side in GBNF. */
  #has(gbnf: string, text: string, path: SchemaPath): boolean {
    const texts = this.#texts.get(gbnf) ?? enforceable(path, () => new Nfa(gbnf, this.#work));
    this.#texts.set(gbnf, texts);
    return texts.has(text);
  }

  #dependencies(value: SchemaObject, clause: Clause): boolean {
    const { schema, path } = clause;
    return (["dependencies", "dependentRequired", "dependentSchemas"] as const).every((keyword) => {
      return schemaMap(schema, keyword, path).every(([name, needed, at]) => {
        if (!Object.hasOwn(value, name)) return true;
        if (Array.isArray(needed)) return nameList(needed, at).every((other) => Object.hasOwn(value, other));
        return this.matches(value, within(clause, needed, at));
      });
    });
  }
}

function matchesNumber(value: number, { schema, path }: Clause): boolean {
  if (value < (bound(schema, "minimum", path) ?? -Infinity)) return false;
  if (value > (bound(schema, "maximum", path) ?? Infinity)) return false;
  if (value <= (bound(schema, "exclusiveMinimum", path) ?? -Infinity)) return false;
  if (value >= (bound(schema, "exclusiveMaximum", path) ?? Infinity)) return false;
  const divisor = bound(schema, "multipleOf", path);
  return divisor === null || isMultiple(value, divisor);
}
