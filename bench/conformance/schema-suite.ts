import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Automaton } from "../../engine/worker/grammar/automaton.ts";
import { schemaGrammar } from "../../grammar/checked-grammar.ts";
import { compileGbnf } from "../../grammar/gbnf/compile-gbnf.ts";
import { FORMATS } from "../../grammar/language/formats.ts";
import { isSchemaObject, type JsonSchema } from "../../grammar/schema/keywords.ts";
import { UnsupportedSchema } from "../../grammar/schema/unsupported-schema.ts";
import { spellings } from "./spellings.ts";

const DRAFTS = ["draft2020-12", "draft7"] as const;

/** Tests of a draft that are counted apart. Those of formats take every format as an assertion: only enforced ones count. */
const SECTIONS = { required: "required", optional: "optional", format: "formats" } as const;
type Section = keyof typeof SECTIONS;

/** Keywords for the content of a string are annotations since draft 2019-09; these tests of draft 7 take them as assertions. */
const ANNOTATIONS: readonly string[] = [join("optional", "content.json")];

/** The counts of one section of a draft. */
export interface SuiteSection {
  draft: string;
  section: string;
  schemas: number;
  /** Schemas that become a grammar. */
  taken: number;
  /** Valid instances of the taken schemas, and those of them that the grammar allows. */
  valid: number;
  written: number;
  /** Invalid instances of the taken schemas. */
  invalid: number;
  /** Invalid instances that the grammar allows. */
  accepted: string[];
  /** Valid instances that the grammar does not allow. */
  unwritten: string[];
  /** Refused schemas by the keyword at fault. */
  refused: Record<string, number>;
}

export const SUITE_HEAD = ["draft", "tests", "schemas", "taken", "valid", "written", "invalid", "accepted"];

export function suiteRows(sections: readonly SuiteSection[]): string[][] {
  return sections.map(({ draft, section, schemas, taken, valid, written, invalid, accepted }) => {
    return [draft, section, ...[schemas, taken, valid, written, invalid, accepted.length].map(String)];
  });
}

/**
 * Makes the grammar of every schema of the JSON-Schema-Test-Suite, and reads every instance by it: as compact JSON, its
 * members in the given order and in others, since a grammar fixes their order.
 *
 * @param directory a checkout of https://github.com/json-schema-org/JSON-Schema-Test-Suite
 */
export function runSchemaSuite(directory: string): SuiteSection[] {
  return DRAFTS.flatMap((draft) => {
    const names = readdirSync(join(directory, "tests", draft), { recursive: true, encoding: "utf8" });
    const files = names.filter((name) => name.endsWith(".json") && !ANNOTATIONS.includes(name)).sort();
    return (Object.keys(SECTIONS) as Section[]).map((section) => {
      const counts = emptySection(draft, SECTIONS[section]);
      for (const name of files.filter((file) => sectionOf(file) === section)) {
        for (const group of groupsOf(join(directory, "tests", draft, name))) {
          if (section !== "format" || isEnforced(group.schema)) countGroup(counts, name, group);
        }
      }
      return counts;
    });
  });
}

interface Group {
  description: string;
  schema: JsonSchema;
  tests: { description: string; data: unknown; valid: boolean }[];
}

function groupsOf(file: string): Group[] {
  return JSON.parse(readFileSync(file, "utf8")) as Group[];
}

function sectionOf(file: string): Section {
  if (file.startsWith(join("optional", "format"))) return "format";
  return file.startsWith("optional") ? "optional" : "required";
}

/** False for a format that is an annotation here, as every format is by default in JSON Schema 2020-12. */
function isEnforced(schema: JsonSchema): boolean {
  return isSchemaObject(schema) && FORMATS.has(String(schema.format));
}

function emptySection(draft: string, section: string): SuiteSection {
  const counts = { schemas: 0, taken: 0, valid: 0, written: 0, invalid: 0 };
  return { draft, section, ...counts, accepted: [], unwritten: [], refused: {} };
}

function countGroup(counts: SuiteSection, file: string, { description, schema, tests }: Group): void {
  counts.schemas++;
  let automaton: Automaton;
  try {
    automaton = new Automaton(compileGbnf(schemaGrammar(schema)));
  } catch (error) {
    if (!(error instanceof UnsupportedSchema)) throw error;
    const keyword = error.keyword ?? "the whole schema";
    counts.refused[keyword] = (counts.refused[keyword] ?? 0) + 1;
    return;
  }
  counts.taken++;
  for (const { description: title, data, valid } of tests) {
    const reads = spellings(data).some((text) => automaton.walk(automaton.start, Buffer.from(text))?.complete === true);
    const label = `${file}: ${description}: ${title}`;
    if (valid) {
      counts.valid++;
      if (reads) counts.written++;
      else counts.unwritten.push(label);
    } else {
      counts.invalid++;
      if (reads) counts.accepted.push(label);
    }
  }
}
