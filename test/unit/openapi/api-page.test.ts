import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { openApiDocument } from "../../../openapi/document/document.ts";
import { operations } from "../../../openapi/document/operations.ts";
import { DEFAULT_REQUEST_LIMITS } from "../../../openapi/request-limits.ts";

/** The page of the API, and those of its larger endpoints. */
const page = ["api.md", "responses.md", "anthropic.md", "ollama.md"]
  .map((name) => readFileSync(new URL(`../../../docs/${name}`, import.meta.url), "utf8"))
  .join("\n");
const schemas = z
  .record(z.string(), z.object({ properties: z.record(z.string(), z.object({ description: z.string().optional() })) }))
  .parse(requestSchemas());

/** The rows of a table of the pages, found by the text of its first heading cell; of the first such table after a line. */
function table(heading: string, from = 0): string[][] {
  const lines = page.split("\n");
  const start = lines.findIndex((line, index) => index >= from && line.startsWith(`| ${heading} |`));
  expect(start, `a table that begins with "${heading}"`).toBeGreaterThan(-1);
  const length = lines.slice(start).findIndex((line) => !line.startsWith("|"));
  return lines
    .slice(start + 2, start + length)
    .map((line) => line.split(" | ").map((cell) => cell.replace("|", "").trim()));
}

function names(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!);
}

function requestSchemas(): unknown {
  const { components } = openApiDocument(DEFAULT_REQUEST_LIMITS, "0.0.0");
  const { schemas: all } = z.object({ schemas: z.record(z.string(), z.unknown()) }).parse(components);
  const wanted = operations.flatMap(({ request, form }) => request ?? form ?? []);
  return Object.fromEntries(wanted.map((name) => [name, all[name]]));
}

/** The treatment of a field by its description in the schema. */
function fate(schema: string, field: string): string {
  const { properties } = schemas[schema]!;
  if (!(field in properties)) return "–";
  const description = properties[field]?.description ?? "";
  if (description.startsWith("Refused with")) return "refused";
  return description.startsWith("Accepted and ignored") ? "ignored" : "used";
}

describe("the pages of the API", () => {
  it("has exactly the operations of the OpenAPI document", () => {
    const ofOllama = page.split("\n").indexOf("# Ollama's API");
    const rows = [...table("method and path"), ...table("method and path", ofOllama)];
    const documented = rows.flatMap(([cell = ""]) => names(cell));
    const there = operations.map(({ method, path }) => `${method.toUpperCase()} ${path.replace(/:\w+/g, "{id}")}`);
    expect(documented.map((name) => name.replace(/\{\w+\}/, "{id}")).sort()).toEqual(there.sort());
  });

  it.each([
    ["ChatCompletionRequest", 1],
    ["CompletionRequest", 2],
  ])("has the treatment of every field of %s", (schema, column) => {
    const documented = table("field").flatMap((cells) => names(cells[0]!).map((name) => [name, cells[column]]));
    const fields = new Set([...documented.map(([name]) => name!), ...Object.keys(schemas[schema]!.properties)]);
    expect(Object.fromEntries(documented)).toEqual(
      Object.fromEntries([...fields].map((name) => [name, fate(schema, name)])),
    );
  });

  const others = operations.flatMap(({ method, path, request, form }) => {
    const schema = request ?? form;
    const own = ["ChatCompletionRequest", "CompletionRequest"].includes(schema ?? "");
    const twin = operations.some((other) => other.path === `/v1${path}`);
    return schema === undefined || own || twin
      ? []
      : [{ called: `${method.toUpperCase()} ${path.replace(/:\w+/g, "{id}")}`, schema }];
  });
  it.each(others)("has exactly the fields of $called", ({ called, schema }) => {
    const rows = table(`field of \`${called}\``);
    const documented = rows.flatMap(([cell = ""]) => names(cell));
    expect(documented.sort()).toEqual(Object.keys(schemas[schema]!.properties).sort());
  });
});
