import type { FunctionTool } from "../../protocol/prompt.ts";

/** For formats whose calls stand unmarked in the text: only the name of an offered tool makes one. */
export function nameCheck(tools: readonly FunctionTool[]): (name: string) => boolean {
  const names = new Set(tools.map((tool) => tool.function.name));
  return (name) => names.has(name);
}

/** For formats with marks: what the model calls is passed on, and the client says that there is no such tool. */
export function anyName(name: string): boolean {
  return name.trim() !== "";
}

/** The schema of each argument of a tool; empty for one that is not offered. */
export function argumentSchemas(tools: readonly FunctionTool[], name: string): Record<string, unknown> {
  const parameters = tools.find((tool) => tool.function.name === name)?.function.parameters;
  const properties = parameters?.properties;
  return typeof properties === "object" && properties !== null ? { ...properties } : {};
}
