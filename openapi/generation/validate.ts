import type { z } from "zod";
import { type ApiError, invalidRequest } from "../api-error.ts";
import { FOREIGN_PART_TYPES } from "./message.ts";

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/** Only the first issue is reported. Without this, zod would collect one for each of a million invalid items. */
const FIRST_ISSUE: z.core.ParseContextInternal<Issue> = { abortEarly: true };

/**
 * Validates a body against its schema. Throws the ApiError of the first issue: `missing_required_parameter`,
 * `invalid_type`, `invalid_value`, `unsupported_parameter` or `unsupported_value`, with the path of the field as param.
 */
export function validate<Schema extends z.ZodType>(schema: Schema, body: unknown): z.infer<Schema> {
  const result = schema.safeParse(body, FIRST_ISSUE);
  if (result.success) return result.data;
  throw describe(result.error.issues[0]!, [], body);
}

function describe(issue: Issue, prefix: Path, body: unknown): ApiError {
  const path = [...prefix, ...issue.path];
  if (path.length === 0 && issue.code === "invalid_type") {
    return invalidRequest("invalid_type", null, `The request body must be an object, but is ${valueName(body)}.`);
  }
  const param = pathText(path);
  const value = valueAt(body, path);
  // Only undefined is missing: a field with the value null is given. A refusal may name a field that follows from several
  // others.
  if (value === undefined && !isRefusal(issue)) {
    return invalidRequest("missing_required_parameter", param, `Missing required parameter: '${param}'.`);
  }
  switch (issue.code) {
    case "invalid_type":
      return wrongType(param, [issue.expected], value);
    case "invalid_union":
      return describeUnion(issue, path, body);
    case "invalid_value":
      return wrongValue(param, issue.values, value);
    case "too_big":
      // Without the number of entries: counting takes milliseconds for each ten thousand.
      if (issue.origin === "object")
        return invalidRequest("invalid_value", param, `Invalid '${param}': ${tooBig(issue)}.`);
      return invalidValue(param, tooBig(issue), value);
    case "too_small":
      return invalidValue(param, tooSmall(issue), value);
    case "invalid_key":
      return invalidRequest("invalid_value", param, `Invalid key in '${pathText(path.slice(0, -1))}'.`);
    case "custom":
      return describeCustom(issue, param);
    default:
      return invalidValue(param, issue.message, value);
  }
}

function isRefusal(issue: Issue): boolean {
  return issue.code === "custom" && issue.params?.code !== undefined;
}

function describeCustom(issue: z.core.$ZodIssueCustom, param: string): ApiError {
  const code: unknown = issue.params?.code;
  if (code === "missing_required_parameter") return invalidRequest(code, param, issue.message);
  if (code === "unsupported_parameter" || code === "unsupported_value") {
    const what = code === "unsupported_parameter" ? "parameter" : "value";
    return invalidRequest(code, param, `Unsupported ${what}: '${param}': ${issue.message}`);
  }
  return invalidRequest("invalid_value", param, `Invalid '${param}': ${issue.message}.`);
}

/** Describes the issue of the branch that fits the value best; among equals, the types that all of them expect. */
function describeUnion(issue: z.core.$ZodIssueInvalidUnion, path: Path, body: unknown): ApiError {
  if (issue.discriminator !== undefined) {
    const known = "options" in issue ? (issue.options ?? []) : [];
    const supported = known.filter((option) => !FOREIGN_PART_TYPES.some((type) => type === option));
    return wrongValue(pathText(path), supported, valueAt(body, path));
  }
  const failures = issue.errors.map((issues) => issues[0]!);
  const best = Math.max(...failures.map(fits));
  const meant = failures.filter((failure) => fits(failure) === best);
  if (best > 1 || meant.length === 1) return describe(meant[0]!, path, body);
  const at = [...path, ...meant[0]!.path];
  const expected = meant.flatMap((failure) => ("expected" in failure ? [failure.expected] : []));
  return wrongType(pathText(at), expected, valueAt(body, at));
}

/** Fit of a branch: 0 for a value of another type, 1 for a list whose first item has another type, else more. */
function fits(issue: Issue): number {
  if (issue.code !== "invalid_type") return 2 + issue.path.length;
  if (issue.path.length === 0) return 0;
  return issue.path.every((part) => part === 0) ? 1 : 2 + issue.path.length;
}

function wrongType(param: string, expected: readonly string[], value: unknown): ApiError {
  const names = [...new Set(expected)].map(typeName);
  const wanted = names.length > 1 ? `one of ${names.join(", ")}` : names.join("");
  const message = `Invalid type for '${param}': expected ${wanted}, but got ${valueName(value)} instead.`;
  return invalidRequest("invalid_type", param, message);
}

function wrongValue(param: string, values: readonly unknown[], value: unknown): ApiError {
  if (typeof value !== typeof values[0]) return wrongType(param, [typeof values[0]], value);
  const supported = values.map((option) => `'${String(option)}'`).join(", ");
  return invalidValue(param, `supported values are ${supported}`, value);
}

function invalidValue(param: string, rule: string, value: unknown): ApiError {
  return invalidRequest("invalid_value", param, `Invalid '${param}': ${rule}, but got ${shown(value)} instead.`);
}

const UNITS: Record<string, string> = { string: "characters", array: "items", object: "entries" };
const SINGLE: Record<string, string> = { characters: "character", items: "item", entries: "entry" };

function tooBig(issue: z.core.$ZodIssueTooBig): string {
  const unit = UNITS[issue.origin];
  const bound = issue.inclusive === false ? "less than" : "at most";
  return unit === undefined
    ? `expected a value of ${bound} ${issue.maximum}`
    : `expected at most ${issue.maximum} ${unit}`;
}

function tooSmall(issue: z.core.$ZodIssueTooSmall): string {
  const unit = UNITS[issue.origin];
  const bound = issue.inclusive === false ? "more than" : "at least";
  return unit === undefined
    ? `expected a value of ${bound} ${issue.minimum}`
    : `expected at least ${issue.minimum} ${issue.minimum === 1 ? SINGLE[unit] : unit}`;
}

const TYPE_NAMES: Record<string, string> = {
  number: "a number",
  int: "an integer",
  string: "a string",
  boolean: "a boolean",
  array: "an array",
  object: "an object",
  record: "an object",
  null: "null",
};

function typeName(expected: string): string {
  return TYPE_NAMES[expected] ?? expected;
}

function valueName(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "number") return Number.isFinite(value) ? "a number" : "a number out of range";
  return typeName(typeof value);
}

const MAX_SHOWN = 64;

/** A number or a short text; of longer values only the size: error messages may be logged, and must not have prompts. */
function shown(value: unknown): string {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (typeof value === "string") return value.length <= MAX_SHOWN ? `'${value}'` : `${value.length} characters`;
  if (Array.isArray(value)) return `${value.length} items`;
  return value === null ? "null" : `${Object.keys(Object(value)).length} entries`;
}

function pathText(path: Path): string {
  let text = "";
  for (const part of path) {
    if (typeof part === "number") text += `[${part}]`;
    else text += text === "" ? String(part) : `.${String(part)}`;
  }
  return text.length > 256 ? `${text.slice(0, 256)}…` : text;
}

function valueAt(body: unknown, path: Path): unknown {
  let value = body;
  for (const part of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return undefined;
    value = Object.getOwnPropertyDescriptor(value, part)?.value;
  }
  return value;
}
