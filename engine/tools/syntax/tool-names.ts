import type { FunctionTool } from "../../protocol/prompt.ts";

/** For formats whose calls have no marks: only the name of an offered tool makes a call. */
export function nameCheck(tools: readonly FunctionTool[]): (name: string) => boolean {
  const names = new Set(tools.map((tool) => tool.function.name));
  return (name) => names.has(name);
}

/** For formats with marks: calls of unknown tools are passed on too, and the client answers that there is no such tool. */
export function anyName(name: string): boolean {
  return name.trim() !== "";
}

/** The schema of each argument of a tool; empty for one that is not offered. */
export function argumentSchemas(tools: readonly FunctionTool[], name: string): Record<string, unknown> {
  const parameters = tools.find((tool) => tool.function.name === name)?.function.parameters;
  const properties = parameters?.properties;
  return typeof properties === "object" && properties !== null ? { ...properties } : {};
}
