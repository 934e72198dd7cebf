import { Dfa } from "../language/dfa.ts";
import type { Work } from "../language/work.ts";
import { count } from "../schema/keyword-numbers.ts";
import type { SchemaPath } from "../schema/keywords.ts";
import { type Clause, type Part, part } from "../schema/part.ts";
import { enforceable, patternTexts } from "../schema/pattern-texts.ts";
import { nameList, schemaMap } from "../schema/schema-lists.ts";
import { UnsupportedSchema } from "../schema/unsupported-schema.ts";

const MOST_NAME = 256;
/** Most patterns of names in one object: names are told apart by the patterns that they match. */
const MOST_PATTERNS = 4;

/** The parts of a property, by what one clause says of its name. */
interface Properties {
  named: ReadonlyMap<string, Part>;
  patterns: readonly { pattern: string; texts: Dfa; part: Part }[];
  /** The part of all other properties; null if the clause does not say anything of them. */
  others: Part | null;
}

/** The objects that match all clauses. */
export class ObjectShape {
  /** Names of properties in the order in which they are written. */
  readonly names: readonly string[];
  /** Required names, with the path of their `required`. */
  readonly required: ReadonlyMap<string, SchemaPath>;
  readonly least: number;
  readonly most: number | null;
  /** Schemas of all names. */
  readonly propertyNames: readonly Part[];
  /** Names that match none of the patterns may occur besides `names`. */
  readonly open: boolean;
  readonly #work: Work;
  readonly #properties: readonly Properties[];
  /** Names that the schema itself has, rather than a negation. */
  readonly #own: ReadonlySet<string>;

  /**
   * As in OpenAI's strict schemas and in llama.cpp, a schema with `properties` and without `additionalProperties` allows
   * no others.
   */
  constructor(clauses: readonly Clause[], work: Work) {
    this.#work = work;
    const required = new Map<string, SchemaPath>();
    const own = new Set<string>();
    let least = 0;
    let most: number | null = null;
    for (const { schema, path, derived } of clauses) {
      const at = [...path, "required"];
      const names = nameList(schema.required, at);
      for (const name of names) if (!required.has(name)) required.set(name, at);
      const known = schemaMap(schema, "properties", path).filter(([, value]) => value !== false);
      if (!derived) for (const name of [...known.map(([key]) => key), ...names]) own.add(name);
      least = Math.max(least, count(schema, "minProperties", path) ?? 0);
      const limit = count(schema, "maxProperties", path);
      if (limit !== null) most = Math.min(limit, most ?? limit);
    }
    this.required = required;
    this.least = least;
    this.most = most;
    this.#own = own;
    this.#properties = [
      ...clauses.map((clause) => propertiesOf(clause, work)),
      ...clauses.flatMap((clause) => unevaluated(clause, clauses, work)),
    ];
    this.propertyNames = clauses.flatMap(({ schema, path }) => {
      return schema.propertyNames === undefined ? [] : [part(schema.propertyNames, [...path, "propertyNames"])];
    });
    const patterns = this.#properties.some((one) => one.patterns.length > 0);
    const extended = this.#properties.some(({ others }) => others !== null);
    this.open = extended || (own.size === 0 && !patterns);
    const named = this.#properties.flatMap((one) => [...one.named.keys()]);
    this.names = [...new Set([...named, ...required.keys()])];
    if (new Set(this.#patterns.map(({ pattern }) => pattern)).size > MOST_PATTERNS) {
      throw new UnsupportedSchema(this.#patterns[0]!.part.path, `more than ${MOST_PATTERNS} patterns in one object.`);
    }
  }

  get #patterns() {
    return this.#properties.flatMap(({ patterns }) => patterns);
  }

  /** The parts of a property; null if it is not allowed. */
  partsOf(name: string): Part[] | null {
    this.#work.spend(this.#properties.length);
    const allowed = this.open || this.#own.has(name) || this.#patterns.some(({ texts }) => texts.has(name));
    if (!allowed) return null;
    const parts = this.#properties.flatMap(({ named, patterns, others }) => {
      const own = named.get(name);
      const matched = patterns.filter(({ texts }) => texts.has(name)).map((one) => one.part);
      const described = own === undefined ? matched : [own, ...matched];
      return described.length === 0 && others !== null ? [others] : described;
    });
    return parts.some(({ schema, path }) => schema === false && path.at(-1) === "additionalProperties") ? null : parts;
  }

  /**
   * Sets of names that match the same patterns, with the parts of their properties. The names of the object are in them
   * too. Null stands for all names.
   */
  sets(): { texts: Dfa | null; parts: Part[]; path: SchemaPath | null }[] {
    const patterns = [...new Map(this.#patterns.map((one) => [one.pattern, one])).values()];
    let sets: { texts: Dfa | null; matched: Set<string>; path: SchemaPath | null }[] = [
      { texts: null, matched: new Set(), path: null },
    ];
    for (const {
      pattern,
      texts,
      part: { path },
    } of patterns) {
      sets = enforceable(path, () => {
        return sets.flatMap((set) => [
          { texts: set.texts?.and(texts) ?? texts, matched: new Set([...set.matched, pattern]), path },
          { texts: set.texts?.and(texts.not()) ?? texts.not(), matched: set.matched, path },
        ]);
      });
    }
    return sets.flatMap(({ texts, matched, path }) => {
      if (texts?.empty === true || (matched.size === 0 && !this.open)) return [];
      const parts = this.#properties.flatMap(({ patterns: own, others }) => {
        const hits = own.filter(({ pattern }) => matched.has(pattern)).map((one) => one.part);
        return hits.length === 0 && others !== null ? [others] : hits;
      });
      return [{ texts, parts, path }];
    });
  }
}

function propertiesOf({ schema, path }: Clause, work: Work): Properties {
  const { additionalProperties } = schema;
  return {
    named: new Map(
      schemaMap(schema, "properties", path).map(([name, one, at]) => {
        if (name.length > MOST_NAME) {
          throw new UnsupportedSchema([...path, "properties"], `a name has more than ${MOST_NAME} characters.`);
        }
        return [name, part(one, at)];
      }),
    ),
    patterns: schemaMap(schema, "patternProperties", path).map(([pattern, one, at]) => ({
      pattern,
      texts: enforceable(at, () => Dfa.of(patternTexts(pattern, at), work)),
      part: part(one, at),
    })),
    others: additionalProperties === undefined ? null : part(additionalProperties, [...path, "additionalProperties"]),
  };
}

/** What `unevaluatedProperties` says of the names that no schema beside or within its own one describes. */
function unevaluated({ schema, path }: Clause, clauses: readonly Clause[], work: Work): Properties[] {
  if (schema.unevaluatedProperties === undefined) return [];
  const beside = clauses
    .filter(({ scopes, derived }) => scopes.includes(schema) && !derived)
    .map((clause) => propertiesOf(clause, work));
  const others = part(schema.unevaluatedProperties, [...path, "unevaluatedProperties"]);
  if (beside.some((one) => one.others !== null)) return [];
  const free = (one: Part) => ({ ...one, schema: true });
  return [
    {
      named: new Map(beside.flatMap(({ named }) => [...named].map(([name, one]): [string, Part] => [name, free(one)]))),
      patterns: beside.flatMap(({ patterns }) => patterns.map((one) => ({ ...one, part: free(one.part) }))),
      others,
    },
  ];
}
