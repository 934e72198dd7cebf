import { oneOf } from "../gbnf/literal.ts";
import { different, type Expansion, expand } from "../schema/expansion.ts";
import { InstanceCheck } from "../schema/instance-check.ts";
import { assertions, isSchemaObject, type JsonSchema } from "../schema/keywords.ts";
import { isAtomic } from "../schema/negation.ts";
import { type Choice, type Clause, derived, isFree, type Part, part } from "../schema/part.ts";
import { NoValue, UnsupportedSchema } from "../schema/unsupported-schema.ts";
import { checkConstants, ValueLimits } from "../schema/value-limits.ts";
import { canonical, type Kind, kindOf } from "../schema/value-type.ts";
import { arrayRule } from "./array-rules.ts";
import type { GrammarBuilder } from "./builder.ts";
import { numberRule } from "./number-rules.ts";
import { type AllowedNames, objectRule } from "./object-rules.ts";
import { nameTexts, stringRule } from "./string-rules.ts";

interface SchemaOptions {
  /** True if the value must be an object, also where the schema allows others. */
  object?: boolean;
}

/** Most nested schemas, references included; a body has at most 64 levels itself. */
const MOST_DEPTH = 128;
/** Most conversions of schemas. */
const MOST_SCHEMAS = 10_000;
const MOST_ENUM_VALUES = 1000;
/** Units of work for a clause of a value, and the characters of a key for one unit. */
const CLAUSE = 20;
const KEY_CHARACTERS = 16;

/**
 * Adds the rules of a JSON schema, whose local references are relative to it.
 *
 * @returns the name of its rule
 * @throws UnsupportedSchema with the keyword and its path
 */
export function schemaRule(grammar: GrammarBuilder, schema: JsonSchema, options: SchemaOptions = {}): string {
  return grammar.rule("schema", new SchemaRules(grammar, schema, options).whole());
}

/** A value that is being converted. Its rule has a name once a value within it is of the same schema. */
interface Conversion {
  rule: string | null;
}

/** Converts one schema, with the targets of its references. */
class SchemaRules {
  readonly #grammar: GrammarBuilder;
  readonly #root: JsonSchema;
  readonly #options: SchemaOptions;
  readonly #check: InstanceCheck;
  /** The right-hand sides of parts that were converted, and the conversions under way. */
  readonly #converted = new Map<string, string>();
  readonly #converting = new Map<string, Conversion>();
  readonly #ids = new WeakMap<object, number>();
  /** Schemas whose listed values are counted. */
  readonly #counted = new WeakSet<object>();
  #nextId = 0;
  #depth = 0;
  #schemas = 0;
  #enumValues = 0;

  constructor(grammar: GrammarBuilder, root: JsonSchema, options: SchemaOptions) {
    this.#grammar = grammar;
    this.#root = root;
    this.#options = options;
    this.#check = new InstanceCheck(root, grammar);
  }

  /** @throws UnsupportedSchema */
  whole(): string {
    const whole = part(this.#root, []);
    if (!this.#options.object) return this.#convert([whole]);
    const type = isSchemaObject(this.#root) ? (this.#root.type ?? "object") : "object";
    if (type !== "object") throw new UnsupportedSchema(["type"], "it must be 'object' here.");
    return this.#convert([whole, part({ type }, [])]);
  }

  /** The right-hand side for the values that match all parts. */
  readonly #convert = (parts: readonly Part[]): string => {
    const key = parts.map((one) => this.#keyOf(one)).join();
    this.#grammar.spend(key.length / KEY_CHARACTERS);
    const known = this.#converted.get(key);
    if (known !== undefined) return known;
    const outer = this.#converting.get(key);
    if (outer !== undefined) {
      outer.rule ??= this.#grammar.reserve("value");
      return outer.rule;
    }
    const conversion: Conversion = { rule: null };
    this.#converting.set(key, conversion);
    try {
      const body = this.#nested(parts, () => this.#value(parts, expand(this.#root, parts, this.#grammar)));
      const rule = conversion.rule ?? (parts.length === 1 ? this.#shared(parts[0]!, body) : body);
      if (conversion.rule !== null) this.#grammar.define(rule, body);
      this.#converted.set(key, rule);
      return rule;
    } catch (error) {
      // Rules that were made for values within this one may refer to it.
      if (conversion.rule !== null) this.#grammar.define(conversion.rule, "[]");
      throw error;
    } finally {
      this.#converting.delete(key);
    }
  };

  /** The target of a reference is a rule of its own: it may be used in many places. */
  #shared({ schema }: Part, body: string): string {
    if (!isSchemaObject(schema) || typeof schema.$ref !== "string") return body;
    return this.#grammar.rule(schema.$ref.split("/").at(-1)!, body);
  }

  #keyOf({ schema, derived, scopes }: Part): string {
    const id = (value: unknown): string => {
      // The quotes keep a number that is no schema apart from the ids.
      if (typeof value !== "object" || value === null) return `"${value}"`;
      const known = this.#ids.get(value) ?? this.#nextId++;
      this.#ids.set(value, known);
      return String(known);
    };
    // Derived schemas are made anew each time.
    return `${derived ? `!${JSON.stringify(schema)}` : id(schema)}${scopes.map((scope) => `@${id(scope)}`).join("")}`;
  }

  #nested<T>(parts: readonly Part[], make: () => T): T {
    if (++this.#schemas > MOST_SCHEMAS) throw new UnsupportedSchema([], "its grammar is too large.");
    if (this.#depth >= MOST_DEPTH) {
      throw new UnsupportedSchema(parts[0]?.path ?? [], `it is nested deeper than ${MOST_DEPTH} schemas.`);
    }
    this.#depth++;
    try {
      return make();
    } finally {
      this.#depth--;
    }
  }

  #value(parts: readonly Part[], { clauses, choices }: Expansion): string {
    if (clauses.every(({ schema }) => isFree(schema)) && choices.length === 0) return this.#grammar.json.value;
    this.#grammar.spend(CLAUSE * clauses.length);
    const limits = new ValueLimits(clauses);
    const listed = this.#listed(limits, parts, clauses);
    if (listed !== null) return oneOf(listed.map((text) => this.#grammar.value(JSON.parse(text))));
    const [choice, ...others] = choices;
    if (choice !== undefined) return this.#alternatives(choice, parts, { clauses, choices: others });
    return oneOf([...limits.kinds].map((kind) => this.#rule(kind, clauses, limits)));
  }

  /** The values of a list that match all parts, as texts; null without a list. */
  #listed({ candidates }: ValueLimits, parts: readonly Part[], clauses: readonly Clause[]): string[] | null {
    if (candidates === null) return null;
    const { schema, path } = clauses.find((one) => one.schema.const !== undefined || one.schema.enum !== undefined)!;
    const at = [...path, schema.const === undefined ? "enum" : "const"];
    if (!this.#counted.has(schema)) this.#enumValues += candidates.length;
    this.#counted.add(schema);
    if (this.#enumValues > MOST_ENUM_VALUES) {
      throw new UnsupportedSchema(at, `at most ${MOST_ENUM_VALUES} values in one schema can be enforced.`);
    }
    const texts = new Map(candidates.map((value) => [canonical(value), JSON.stringify(value)]));
    const left = [...texts.values()].filter((text) => {
      return parts.every((one) => this.#check.matches(JSON.parse(text), one));
    });
    if (left.length === 0) throw new NoValue(at, "none of its values is allowed by the other keywords.");
    return left;
  }

  #alternatives(choice: Choice, parts: readonly Part[], { clauses, choices }: Expansion): string {
    checkConstants(clauses);
    const alone = choices.length === 0 && clauses.every(isCombination);
    const made = choice.alternatives.flatMap((alternative) => {
      try {
        return [alone ? this.#convert(alternative) : this.#beside(alternative, parts, { clauses, choices })];
      } catch (error) {
        if (error instanceof NoValue) return [];
        throw error;
      }
    });
    if (made.length > 0) return oneOf(made);
    throw new NoValue(choice.path, "no value matches it and the keywords beside it.");
  }

  /** One alternative, with everything else that a value has to match. */
  #beside(alternative: readonly Part[], parts: readonly Part[], { clauses, choices }: Expansion): string {
    return this.#nested(alternative, () => {
      const more = expand(this.#root, alternative, this.#grammar);
      const all = { clauses: different([...clauses, ...more.clauses]), choices: [...more.choices, ...choices] };
      return this.#value([...parts, ...alternative], all);
    });
  }

  #rule(kind: Kind, clauses: readonly Clause[], limits: ValueLimits): string {
    const grammar = this.#grammar;
    const { path } = clauses[0]!;
    const excluded = limits.excluded.filter((value) => kindOf(value) === kind);
    switch (kind) {
      case "object":
        return objectRule(grammar, withoutEmpty(clauses, excluded, "minProperties"), path, this.#convert, this.#names);
      case "array":
        return arrayRule(grammar, withoutEmpty(clauses, excluded, "minItems"), path, this.#convert, this.#values);
      case "string":
        return stringRule(grammar, clauses, excluded as string[], path);
      case "number":
        return numberRule(grammar, clauses, excluded as number[], path);
      case "boolean":
        if (excluded.length === 0) return grammar.json.boolean;
        if (new Set(excluded).size === 2) throw new NoValue([...path, "not"], "no boolean is left.");
        return `"${!excluded[0]}"`;
      case "null":
        if (excluded.length > 0) throw new NoValue([...path, "not"], "null is not allowed.");
        return '"null"';
    }
  }

  /** The values that match parts, as texts; null if their schemas do not list them. */
  readonly #values = (parts: readonly Part[]): string[] | null => {
    try {
      const { clauses } = expand(this.#root, parts, this.#grammar);
      const limits = new ValueLimits(clauses);
      const listed = this.#listed(limits, parts, clauses);
      if (listed !== null) return listed;
      if ([...limits.kinds].some((kind) => kind !== "boolean" && kind !== "null")) return null;
      return ["true", "false", "null"].filter((text) => {
        return parts.every((one) => this.#check.matches(JSON.parse(text), one));
      });
    } catch (error) {
      if (error instanceof NoValue) return [];
      throw error;
    }
  };

  /** The names of properties that match parts. */
  readonly #names = (parts: readonly Part[]): AllowedNames => {
    if (parts.length === 0) return { listed: null, texts: null, has: () => true };
    const has = (name: string) => parts.every((one) => this.#check.matches(name, one));
    try {
      const { clauses, choices } = expand(
        this.#root,
        [...parts, part({ type: "string" }, parts[0]!.path)],
        this.#grammar,
      );
      const limits = new ValueLimits(clauses);
      const listed = this.#listed(limits, parts, clauses);
      if (listed !== null) {
        const names = listed.map((text): unknown => JSON.parse(text)).filter((name) => typeof name === "string");
        return { listed: names, texts: null, has };
      }
      if (choices.length > 0) throw new UnsupportedSchema(parts[0]!.path, "alternatives of names cannot be enforced.");
      const excluded = limits.excluded.filter((value) => typeof value === "string");
      return { listed: null, texts: nameTexts(this.#grammar, clauses, excluded, parts[0]!.path), has };
    } catch (error) {
      if (error instanceof NoValue) return { listed: [], texts: null, has: () => false };
      throw error;
    }
  };
}

/** Keywords that other schemas come from, which are clauses or choices of their own. */
const COMBINATIONS = new Set(["$ref", "allOf", "anyOf", "else", "if", "not", "oneOf", "then"]);

/** True if a clause says nothing of the value but that it matches other schemas. */
function isCombination({ schema, scopes }: Clause): boolean {
  return (
    scopes.length === 0 && !isAtomic(schema.not) && assertions(schema).every((keyword) => COMBINATIONS.has(keyword))
  );
}

/** An excluded object or array can only be the empty one: others have too many spellings. @throws UnsupportedSchema */
function withoutEmpty(clauses: readonly Clause[], excluded: readonly unknown[], least: string): readonly Clause[] {
  if (excluded.length === 0) return clauses;
  const outer = clauses[0]!;
  if (excluded.every((value) => JSON.stringify(value).length === 2))
    return [...clauses, { ...outer, ...derived(outer, {}), schema: { [least]: 1 } }];
  throw new UnsupportedSchema([...outer.path, "not"], "objects and arrays with content cannot be excluded.");
}
